// Delayed messages by due time.

import { assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
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

Deno.test("GET retries looks through many delayed messages in many turns", async () => {
  const management = new TestManagement();
  const { test } = management;
  const args = { "x-delayed-retry-min": 1_000_000, "x-delayed-retry-jitter": 100 };
  const channel = new TestChannel();
  test.consume(test.queue("work", args), channel);
  for (let i = 0; i < 40_000; i++) test.publish("work", "x");
  test.turn();
  channel.drain();
  channel.unacked.reject(0, true, true, CAUSE_REJECT);
  test.turn();
  assertEquals(test.vhost.queues.get("work")!.delayedCount, 40_000);
  const before = management.turnCount;
  const page = await management.get("/api/queues/%2F/work/retries?page=20&page_size=500");
  assertGreaterOrEqual(management.turnCount - before, 4);
  assertEquals([page.item_count, page.page_count], [500, 80]);
  const dues: number[] = page.items.map(({ due }: AnyJson) => due);
  assertEquals(dues, [...dues].sort((a, b) => a - b));
  const first = await management.get("/api/queues/%2F/work/retries?page=1&page_size=500");
  assertLess(first.items.at(-1).due, dues[0]!);
  assertEquals(
    first.items[0].due,
    (await management.get("/api/queues/%2F/work")).delayed_retry.next_due,
  );
});

Deno.test("GET retries leaves out messages that leave meanwhile, and refuses pages too deep", async () => {
  const management = withDelayed(5);
  const path = "/api/queues/%2F/work/retries";
  let pauseCount = 0;
  management.pause = () => {
    if (++pauseCount === 2) management.test.vhost.queues.get("work")!.purge();
    return Promise.resolve();
  };
  const page = await management.get(path);
  assertEquals([page.items, page.total_count], [[], 5]);
  const deep = await management.request(`${path}?page=201&page_size=500`);
  assertEquals([deep.status, deep.json.reason], [
    400,
    "pages reach 100000 messages deep; use after to go on behind a message",
  ]);
});

Deno.test("GET retries goes on behind a message", async () => {
  const management = withDelayed(5);
  const path = "/api/queues/%2F/work/retries?page_size=2";
  const sizes: number[] = [];
  let after = "";
  for (let asked = 0; asked < 4; asked++) {
    const { items, total_count, filtered_count } = await management.get(path + after);
    sizes.push(...items.map(({ size }: AnyJson) => size));
    after = `&after=${items.at(-1)?.id}`;
    assertEquals([total_count, filtered_count], [5, 5]);
  }
  assertEquals(sizes, [1, 2, 3, 4, 5]);
  const behind = await management.get(`${path}&page=2&after=${management.test.nowMs + 960}-1`);
  assertEquals(behind.items.map(({ size }: AnyJson) => size), [4, 5]);
  for (const wrong of ["7", "", "1-", "x-1", "1-2-3"]) {
    const answer = await management.request(`${path}&after=${wrong}`);
    assertEquals([answer.status, answer.json.reason], [
      400,
      "after must be the id of a delayed message",
    ]);
  }
});
