// Queues and their retry queues as JSON.

import {
  assertEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { type AnyJson, TestManagement } from "../../../support/management.ts";

const RETRY = { "x-delayed-retry-min": 500, "x-delayed-retry-multiplier": 2 };

function withRetryingQueue(): TestManagement {
  const management = new TestManagement();
  const { test } = management;
  const queue = test.queue("work", RETRY, { durable: true });
  test.queue("plain", { "x-message-ttl": 60_000 });
  const channel = new TestChannel();
  test.consume(queue, channel, { tag: "ctag", prefetch: 10, priority: 3 });
  test.publish("work", "first");
  test.publish("work", "second!");
  test.turn();
  const [first] = channel.drain();
  channel.unacked.reject(first!.tag, false, true, CAUSE_REJECT);
  test.turn();
  return management;
}

Deno.test("GET queues lists queues and retry queues by name", async () => {
  const queues: AnyJson[] = await withRetryingQueue().get("/api/queues");
  assertEquals(queues.map((queue) => queue.name), ["amq.retry-work", "plain", "work"]);
  assertEquals(queues.map((queue) => queue.internal), [true, false, false]);
  for (const queue of queues) {
    assertEquals([queue.vhost, queue.node, queue.state], ["/", "rabbit@test", "running"]);
  }
});

Deno.test("GET queues/:vhost/:queue has RabbitMQ's members with its types", async () => {
  const queue = await withRetryingQueue().get("/api/queues/%2F/work");
  assertEquals([queue.durable, queue.auto_delete, queue.exclusive], [true, false, false]);
  assertEquals(queue.type, "classic");
  assertEquals(queue.arguments, RETRY);
  assertEquals([queue.messages, queue.messages_ready, queue.messages_unacknowledged], [1, 0, 1]);
  assertEquals(queue.message_bytes, 7);
  assertEquals(queue.messages_details, { rate: 0 });
  assertEquals([queue.consumers, queue.policy, queue.exclusive_consumer_tag], [1, null, null]);
  assertEquals(queue.message_stats.publish, 2);
  assertEquals(queue.message_stats.publish_details, { rate: 0 });
  const [consumer] = queue.consumer_details;
  assertEquals(consumer.consumer_tag, "ctag");
  assertEquals([consumer.ack_required, consumer.prefetch_count], [true, 10]);
  assertEquals(consumer.arguments, { "x-priority": 3 });
  assertEquals(consumer.queue, { name: "work", vhost: "/" });
});

Deno.test("GET queues/:vhost/:queue tells arguments that work from those that do nothing", async () => {
  const management = new TestManagement();
  const { test } = management;
  const growth = { "x-delayed-retry-max": 9, "x-delayed-retry-multiplier": 2 };
  test.queue("inert", { ...growth, "x-max-length": 5, "x-odd": 1 });
  test.queue("retried", { ...growth, "x-delayed-retry-min": 1 });
  const effective = async (name: string) =>
    (await management.get(`/api/queues/%2F/${name}`)).effective_arguments;
  assertEquals(await effective("inert"), ["x-max-length"]);
  assertEquals(await effective("retried"), [...Object.keys(growth), "x-delayed-retry-min"]);
  assertEquals(await effective("amq.retry-retried"), []);
});

Deno.test("GET queues/:vhost/:queue shows each counter under its own name", async () => {
  const management = new TestManagement();
  const queue = management.test.queue("q");
  Object.assign(queue.stats, {
    publish: 1,
    deliver: 2,
    deliverNoAck: 4,
    get: 8,
    getNoAck: 16,
    getEmpty: 32,
    redeliver: 64,
    ack: 128,
    reject: 256,
  });
  queue.ready.bodyBytes = 3;
  Object.assign(queue.settlement, { unackedBytes: 5, unackedCount: 2 });
  const json = await management.get("/api/queues/%2F/q");
  const members = Object.entries(json.message_stats).filter(([name]) => !name.endsWith("_details"));
  assertEquals(Object.fromEntries(members), {
    publish: 1,
    deliver: 2,
    deliver_no_ack: 4,
    get: 8,
    get_no_ack: 16,
    get_empty: 32,
    deliver_get: 30,
    redeliver: 64,
    ack: 128,
    reject: 256,
  });
  assertEquals([json.messages, json.messages_ready, json.messages_unacknowledged], [2, 0, 2]);
  assertEquals([json.message_bytes, json.message_bytes_ready], [8, 3]);
  assertEquals(json.message_bytes_unacknowledged, 5);
});

Deno.test("GET queues/:vhost/:queue shows what is delayed", async () => {
  const management = withRetryingQueue();
  const due = management.test.nowMs + 500;
  const queue = await management.get("/api/queues/%2F/work");
  assertEquals(queue.delayed_retry, {
    min: 500,
    multiplier: 2,
    max: null,
    jitter: 0,
    delays: null,
    type: null,
    delivery_limit: 20,
    delivery_limit_default: true,
    messages_delayed: 1,
    bytes_delayed: 5,
    next_due: due,
    last_due: due,
    retry_queue: "amq.retry-work",
  });
  const plain = await management.get("/api/queues/%2F/plain");
  assertEquals("delayed_retry" in plain, false);
});

Deno.test("GET queues/:vhost/:queue shows schedules given as a list and no due time when idle", async () => {
  const management = new TestManagement();
  const delays = { tag: "A", value: [{ tag: "I", value: 5 }, { tag: "I", value: 7 }] } as const;
  const args = { "x-delayed-retry-delays": delays, "x-delayed-retry-jitter": 10 };
  const type = { "x-delayed-retry-type": "failed" };
  management.test.queue("list", { ...args, ...type, "x-delivery-limit": 3 });
  const { delayed_retry: retry } = await management.get("/api/queues/%2F/list");
  assertEquals([retry.min, retry.delays, retry.jitter], [null, [5, 7], 10]);
  assertEquals(retry.type, "failed");
  assertEquals([retry.delivery_limit, retry.delivery_limit_default], [3, false]);
  assertEquals([retry.next_due, retry.last_due, retry.messages_delayed], [null, null, 0]);
});

Deno.test("GET queues/:vhost/:queue shows the retry queue itself", async () => {
  const management = withRetryingQueue();
  const due = management.test.nowMs + 500;
  const retryQueue = await management.get("/api/queues/%2F/amq.retry-work");
  assertEquals([retryQueue.internal, retryQueue.primary_queue], [true, "work"]);
  assertEquals([retryQueue.messages, retryQueue.message_bytes], [1, 5]);
  assertEquals([retryQueue.next_due, retryQueue.last_due], [due, due]);
  assertEquals([retryQueue.durable, retryQueue.consumers], [true, 0]);
});

Deno.test("GET queues/:vhost/:queue answers 404 for what is not there", async () => {
  const management = withRetryingQueue();
  for (const path of ["%2F/none", "other/work", "%2F/amq.retry-plain", "other"]) {
    const answer = await management.request(`/api/queues/${path}`);
    const expected = { error: "Object Not Found", reason: "Not Found" };
    assertEquals([answer.status, answer.json], [404, expected], path);
  }
});

Deno.test("GET queues/:vhost/:queue decodes names once", async () => {
  const management = new TestManagement();
  for (const name of ["a/b", "50%", "a%2Fb", "käse #1", "a+b"]) {
    management.test.queue(name);
    const queue = await management.get(`/api/queues/%2F/${encodeURIComponent(name)}`);
    assertEquals(queue.name, name);
  }
});

Deno.test("GET queues pages, filters, sorts and picks columns", async () => {
  const management = new TestManagement();
  for (let i = 0; i < 25; i++) {
    const name = `q${String(i).padStart(2, "0")}`;
    management.test.queue(name);
    for (let n = 0; n < i % 5; n++) management.test.publish(name, "x");
  }
  management.test.turn();
  const page = await management.get("/api/queues?page=3&page_size=10&columns=name");
  const items = ["q20", "q21", "q22", "q23", "q24"].map((name) => ({ name }));
  const counts = { item_count: 5, filtered_count: 25, total_count: 25 };
  assertEquals(page, { items, page: 3, page_count: 3, page_size: 10, ...counts });
  const sorted = await management.get(
    "/api/queues/%2F?page=1&page_size=2&sort=messages&sort_reverse=true&name=Q1&columns=name,messages",
  );
  assertEquals(sorted.items.map((queue: AnyJson) => queue.messages), [4, 4]);
  assertEquals([sorted.filtered_count, sorted.total_count, sorted.page_count], [10, 25, 5]);
  const byPattern = await management.get("/api/queues?name=^q0[1-3]$&use_regex=true&columns=name");
  assertEquals(byPattern.map((queue: AnyJson) => queue.name), ["q01", "q02", "q03"]);
  const nested = await management.get(
    "/api/queues?page=1&page_size=1&columns=message_stats.publish",
  );
  assertEquals(nested.items, [{ message_stats: { publish: 0 } }]);
});

Deno.test("GET queues refuses pages and patterns that make no sense", async () => {
  const management = withRetryingQueue();
  for (const query of ["page=0", "page=x", "page=1&page_size=501", "page_size=0", "page=1.5"]) {
    const answer = await management.request(`/api/queues?${query}`);
    assertEquals([answer.status, answer.json.error], [400, "bad_request"], query);
  }
  const behind = await management.request("/api/queues?page=2");
  assertEquals(behind.json, {
    error: "page_out_of_range",
    reason: "Page out of range, page: 2 size: 100, len: 3",
  });
  const pattern = await management.request("/api/queues?name=(&use_regex=true");
  assertEquals(pattern.status, 400);
  assertMatch(pattern.json.reason, /^name is not a usable regular expression: /);
});

Deno.test("GET queues reads within turns of the broker", async () => {
  const management = withRetryingQueue();
  await management.get("/api/queues");
  await management.get("/api/queues/%2F/work");
  await management.get("/api/queues/%2F/work/retries");
  // Lists take one turn to see what there is, one for each slice, and one to show a page of retries.
  assertEquals(management.turnCount, 6);
});

/** A broker with so many queues, declared in no order. */
function withQueues(count: number): TestManagement {
  const management = new TestManagement();
  for (let i = 0; i < count; i++) {
    const number = String((i * 7919) % count).padStart(5, "0");
    management.test.queue(`q${number}`, i % 1000 === 0 ? RETRY : {});
  }
  return management;
}

function turned<T>(management: TestManagement, run: () => Promise<T>): Promise<[T, number]> {
  const before = management.turnCount;
  return run().then((result) => [result, management.turnCount - before]);
}

Deno.test("GET queues makes a long list in many turns, and whole", async () => {
  const management = withQueues(3000);
  let pauseCount = 0;
  management.pause = () => {
    pauseCount++;
    return Promise.resolve();
  };
  const [list, turnCount] = await turned(management, () => management.get("/api/queues"));
  const names: string[] = list.map((queue: AnyJson) => queue.name);
  assertEquals(names.length, 3003);
  assertEquals(names, [...names].sort());
  assertEquals(new Set(names).size, 3003);
  assertEquals(list[10].vhost, "/");
  assertGreaterOrEqual(turnCount, 30);
  assertGreaterOrEqual(pauseCount, 30);
});

Deno.test("GET queues sorts a long list by a value in many turns", async () => {
  const management = withQueues(2000);
  for (const name of ["q00007", "q01999", "q00500"]) management.test.publish(name, "x");
  management.test.turn();
  const query = "sort=messages&sort_reverse=true&page=1&page_size=4&columns=name";
  const [page, turnCount] = await turned(management, () => management.get(`/api/queues?${query}`));
  const names = page.items.map((queue: AnyJson) => queue.name);
  assertEquals(names, ["q00007", "q00500", "q01999", "amq.retry-q00000"]);
  assertEquals([page.total_count, page.page_count], [2002, 501]);
  assertGreaterOrEqual(turnCount, 20);
});

Deno.test("GET queues leaves out queues that go while the list is made, and shows the others", async () => {
  const management = withQueues(1000);
  const { vhost } = management.test;
  let pauseCount = 0;
  management.pause = () => {
    if (++pauseCount === 3) {
      for (const queue of [...vhost.queues.values()].slice(0, 900)) vhost.removeQueue(queue);
    }
    return Promise.resolve();
  };
  const list = await management.get("/api/queues");
  assertGreaterOrEqual(list.length, 100);
  assertLess(list.length, 600);
  const none = new TestManagement();
  assertEquals(await none.get("/api/queues"), []);
});

Deno.test("GET queues takes turns with itself: many lists together run one slice at a time", async () => {
  const management = withQueues(1000);
  const held: (() => void)[] = [];
  management.pause = () => new Promise((resolve) => held.push(resolve));
  const queries = ["", "?sort=messages", "?page=2", "?name=q0&use_regex=true", "?sort=name"];
  const lists = Array.from(
    { length: 20 },
    (_, i) => management.get(`/api/queues${queries[i % queries.length]}`),
  );
  let isOver = false;
  const all = Promise.all(lists).finally(() => isOver = true);
  while (!isOver) {
    const before = management.turnCount;
    held.splice(0).forEach((resume) => resume());
    await new Promise((resolve) => setTimeout(resolve, 0));
    // The first slice of a list sees what there is and may show some already.
    assertLessOrEqual(management.turnCount - before, 2);
  }
  assertEquals((await all).length, 20);
});

Deno.test("GET queues refuses queries that would be work without end", async () => {
  const management = withQueues(20);
  const columns = Array.from({ length: 1500 }, (_, i) => `c${i}`).join(",");
  const queries: [string, string][] = [
    [`columns=${columns}`, "columns must be at most 100"],
    [`columns=${"a.".repeat(6)}a`, "columns must have at most 255 characters and 5 parts"],
    [`sort=${"a.".repeat(6)}a`, "sort must have at most 255 characters and 5 parts"],
    [`sort=${"a".repeat(256)}`, "sort must have at most 255 characters and 5 parts"],
    [`name=${"a".repeat(257)}`, "name must have at most 256 characters"],
    [`name=${"(a|b)".repeat(52)}&use_regex=true`, "name must have at most 256 characters"],
    ["name=(.?){300}(a|b|c){100}z$&use_regex=true", "it takes too many steps"],
    ["name=[\\p{L}\\p{N}]{100}&use_regex=true", "it takes too many steps"],
  ];
  for (const [query, reason] of queries) {
    const { status, json } = await management.request(`/api/queues?${query}`);
    assertEquals([status, json.error], [400, "bad_request"], reason);
    assertStringIncludes(json.reason, reason);
  }
  const few = Array.from({ length: 1500 }, (_, i) => `c${i % 3}`).join(",");
  assertEquals((await management.request(`/api/queues?columns=name,${few}`)).status, 200);
});

Deno.test("GET queues compares many names with a pattern in slices, and gives up in the end", async () => {
  const management = new TestManagement();
  const name = "a".repeat(240);
  for (let i = 0; i < 300; i++) management.test.queue(`${name}${i}`);
  let pauseCount = 0;
  management.pause = () => {
    pauseCount++;
    return Promise.resolve();
  };
  const slow = encodeURIComponent("(a?){190}(a|b){40}z$");
  const path = `/api/queues?use_regex=true&name=${slow}`;
  const { status } = await management.request(path);
  assertEquals(status, 200);
  // Each name is many steps, and after each there is a pause.
  assertGreaterOrEqual(pauseCount, 250);
});

Deno.test("GET queues gives its seat back when the client goes or asks for no body", async () => {
  const management = withQueues(200);
  const headers = { authorization: `Basic ${btoa("guest:guest")}` };
  for (const method of ["GET", "HEAD"]) {
    for (let i = 0; i < 20; i++) {
      const request = new Request("http://test/api/queues", { method, headers });
      const response = await management.app.fetch(request, {
        peerHost: "127.0.0.1",
        dropPeer() {},
      });
      assertEquals(response.status, 200);
      const reader = response.body?.getReader();
      if (i % 2 === 0) await reader?.read();
      await reader?.cancel();
    }
  }
  assertEquals((await management.get("/api/queues")).length, 201);
});

Deno.test("GET queues/:vhost/:queue has counted nothing of a new queue", async () => {
  const management = new TestManagement();
  management.test.queue("q");
  const { message_stats: stats } = await management.get("/api/queues/%2F/q");
  const counts = Object.entries(stats).filter(([, value]) => typeof value === "number");
  assertGreater(counts.length, 5);
  assertEquals(counts.filter(([, value]) => value !== 0), []);
});
