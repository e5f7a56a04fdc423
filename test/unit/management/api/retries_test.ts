// Delayed messages by due time.

import { assertEquals } from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { type AnyJson, TestManagement } from "../../../support/management.ts";

function withDelayed(count: number): TestManagement {
  const management = new TestManagement();
  const { test } = management;
  const queue = test.queue("work", { "x-delayed-retry-min": 1000, "x-message-ttl": 100_000 });
  const channel = new TestChannel();
  test.consume(queue, channel);
  for (let i = 0; i < count; i++) {
    test.publish("work", "x".repeat(i + 1));
    test.turn(10);
    for (const { tag } of channel.drain()) channel.unacked.reject(tag, false, true, CAUSE_REJECT);
    test.turn();
  }
  return management;
}

Deno.test("GET retries lists what is delayed, the next due first", async () => {
  const management = withDelayed(3);
  const { nowMs } = management.test;
  const list = await management.get("/api/queues/%2F/work/retries");
  assertEquals(list.items.map(({ due }: AnyJson) => due - nowMs), [980, 990, 1000]);
  assertEquals(list.items.map(({ size }: AnyJson) => size), [1, 2, 3]);
  const [first] = list.items;
  assertEquals([first.exchange, first.routing_key, first.attempts], ["", "work", 1]);
  assertEquals(first.age, 30);
  assertEquals(first.expires, nowMs - 30 + 100_000);
  assertEquals(new Set(list.items.map(({ id }: AnyJson) => id)).size, 3);
  assertEquals([list.page, list.page_size, list.total_count], [1, 100, 3]);
});

Deno.test("GET retries pages and picks columns", async () => {
  const management = withDelayed(5);
  const path = "/api/queues/%2F/work/retries";
  const page = await management.get(`${path}?page=2&page_size=2&columns=size`);
  assertEquals(page.items, [{ size: 3 }, { size: 4 }]);
  assertEquals([page.page_count, page.item_count, page.filtered_count], [3, 2, 5]);
  const behind = await management.request(`${path}?page=4&page_size=2`);
  assertEquals([behind.status, behind.json.error], [400, "page_out_of_range"]);
});

Deno.test("GET retries answers an empty page when nothing is delayed and 404 without retries", async () => {
  const management = withDelayed(0);
  assertEquals((await management.get("/api/queues/%2F/work/retries")).items, []);
  management.test.queue("plain");
  for (const queue of ["plain", "none", "amq.retry-work"]) {
    const answer = await management.request(`/api/queues/%2F/${queue}/retries`);
    assertEquals(answer.status, 404, queue);
  }
});
