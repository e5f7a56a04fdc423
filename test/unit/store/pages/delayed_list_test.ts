// What an operator sees of delayed messages that are in pages on the disk: all of them, in order, and any
// one of them by its name. Messages move between memory and pages meanwhile.

import { assert, assertEquals, assertGreater } from "@std/assert";
import { parseRetryName, type RetryName } from "../../../../src/broker/retry/name.ts";
import { RetryLookup } from "../../../../src/broker/retry/lookup.ts";
import { SCAN_DONE } from "../../../../src/broker/retry/scan.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { emptyView } from "../../../../src/store/views.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { type Plain, TestChannel } from "../../../support/test_broker.ts";
import { answer, type Listed, listed, lookUp } from "../support/delayed_list.ts";
import { PagedNode, range } from "../support/paged_node.ts";

const DELAY_MS = 60_000;
const LEAD_MS = 1000;
const RETRIES: Plain = { "x-delayed-retry-min": DELAY_MS, "x-delayed-retry-multiplier": 1 };

function start(disk = new MemoryDisk()): PagedNode {
  return new PagedNode(disk, { sizes: { delayedLeadMs: LEAD_MS } });
}

/** Publishes messages and rejects them in turn, some every millisecond. */
function delay(node: PagedNode, count: number, first = 0): void {
  for (let at = first; at < first + count; at += 8) {
    node.publish("q", at, 8);
    const channel = new TestChannel();
    for (let number = 0; number < 8; number++) node.get("q", channel);
    channel.unacked.reject(0, true, true, CAUSE_REJECT);
    node.t.turn(1);
    node.settle();
  }
}

function paged(count: number, args: Plain = {}): PagedNode {
  const node = start();
  node.queue("q", { ...RETRIES, ...args });
  delay(node, count);
  assertGreater(node.find("q").retries!.delayed.pagedCount, count / 2);
  return node;
}

function numbersOf(list: readonly Listed[]): number[] {
  return list.map(({ id }) => parseRetryName(id)!.number);
}

function nameOf(number: number, node: PagedNode, startMs: number): RetryName {
  assert(node.t.nowMs >= startMs);
  return { dueMs: startMs + Math.floor((number - 1) / 8) + DELAY_MS, number };
}

Deno.test("the list of delayed messages is complete and in order, in memory and in pages", async () => {
  const node = paged(400);
  const all = await answer(node, "q", { page_size: "500" });
  assertEquals([all.filtered_count, all.total_count], [400, 400]);
  assertEquals(numbersOf(all.items), range(1, 400));
  for (const { due, attempts, size, exchange, routing_key, expires } of all.items) {
    assertEquals([attempts, size, exchange, routing_key, expires], [1, 40, "", "q", null]);
    assert(due >= node.t.nowMs);
  }
  assertEquals(
    all.items.map(({ age, due }) => due + age),
    range(0, 400).map(() => node.t.nowMs + DELAY_MS),
  );
  assertEquals(await listed(node, "q", 7), all.items);
  const third = await answer(node, "q", { page: "3", page_size: "50" });
  assertEquals(third.items, all.items.slice(100, 150));
});

Deno.test("the list of delayed messages is the same after a crash", async () => {
  const node = paged(400);
  const before = await listed(node, "q", 60);
  const again = node.crash();
  assertGreater(again.find("q").retries!.delayed.pagedCount, 200);
  assertEquals(await listed(again, "q", 60), before);
});

Deno.test("the list of delayed messages is in due order although some expire earlier", async () => {
  let node = start();
  node.queue("q", { ...RETRIES, "x-delayed-retry-jitter": 50 });
  for (let at = 0; at < 400; at += 8) {
    const expiration = at % 16 === 0 ? { expiration: `${20_000 + at}` } : {};
    node.publish("q", at, 8, { deliveryMode: 2, ...expiration });
    const channel = new TestChannel();
    for (let number = 0; number < 8; number++) node.get("q", channel);
    channel.unacked.reject(0, true, true, CAUSE_REJECT);
    node.t.turn(1);
    node.settle();
  }
  for (const isAgain of [false, true]) {
    if (isAgain) node = node.crash();
    assertGreater(node.find("q").retries!.delayed.pagedCount, 300);
    const all = await listed(node, "q", 33);
    const dues = all.map(({ due }) => due);
    assertEquals(dues, dues.toSorted((a, b) => a - b));
    assertEquals(numbersOf(all).toSorted((a, b) => a - b), range(1, 400));
    const early = all.filter(({ expires }) => expires !== null);
    assertEquals(early.length, 200);
    assert(early.every(({ due, expires }) => expires! < due));
    for (const { id } of [early[0]!, early.at(-1)!, all.at(-1)!]) {
      assertEquals(lookUp(node, "q", parseRetryName(id)!)?.number, parseRetryName(id)!.number);
    }
  }
});

Deno.test("the list of delayed messages misses none that moves between memory and pages meanwhile", async () => {
  for (let seed = 0; seed < 6; seed++) {
    const node = paged(400);
    if (seed % 2 === 1) {
      node.t.turn(node.find("q").retries!.delayed.nextDueMs - node.t.nowMs - LEAD_MS - 10);
    }
    let next = 400;
    let step = 0;
    const list = await answer(node, "q", { page_size: "500" }, () => {
      // New ones press old ones out of memory, and time brings pages back.
      if (++step % 3 === seed % 3 && next < 520) delay(node, 8, (next += 8) - 8);
      else if (seed % 2 === 1) node.t.turn(1);
    });
    const numbers = numbersOf(list.items);
    assertEquals(numbers, numbers.toSorted((a, b) => a - b));
    assertEquals(numbers.filter((number) => number <= 400), range(1, 400), `${seed} ${step}`);
    const all = await listed(node, "q", 100);
    assertEquals(numbersOf(all), range(1, next));
  }
});

Deno.test("the list of delayed messages follows those that go to pages when it has seen them", async () => {
  const node = new PagedNode(new MemoryDisk(), {
    residentBytesMax: 300 * 1024,
    sizes: { delayedLeadMs: LEAD_MS },
  });
  const queue = node.queue("q", RETRIES);
  delay(node, 80);
  assertEquals(queue.retries!.delayed.pagedCount, 0);
  let next = 80;
  let turns = 0;
  const list = await answer(node, "q", { page_size: "80" }, () => {
    // After the second turn the messages have been seen, and are not described yet.
    if (++turns === 2) assertEquals(queue.retries!.delayed.pagedCount, 0);
    while (turns > 1 && queue.retries!.delayed.pagedCount < 300) delay(node, 8, (next += 8) - 8);
  });
  assertEquals(numbersOf(list.items), range(1, 80));
  assert(next > 80);
});

Deno.test("the list of delayed messages leaves out a page that cannot be read", async () => {
  const node = paged(400);
  node.disk.failNext("read", "EIO", "segment");
  const { items, total_count } = await answer(node, "q", { page_size: "500" });
  assert(items.length < 400 && items.length >= 384);
  assertEquals(total_count, 400);
  assertEquals((await answer(node, "q", { page_size: "500" })).items.length, 400);
});

Deno.test("any delayed message is found by its name and taken once, wherever it is", async () => {
  let node = start();
  const startMs = node.t.nowMs;
  node.queue("q", RETRIES);
  delay(node, 400);
  for (const isAgain of [false, true]) {
    if (isAgain) node = node.crash();
    const queue = node.find("q");
    const retries = queue.retries!;
    const numbers = isAgain ? [2, 50, 399] : [1, 100, 400];
    for (const number of numbers) {
      const name = nameOf(number, node, startMs);
      const found = lookUp(node, "q", name)!;
      const message = retries.takeFound(found)!;
      assertEquals([message.number, message.dueMs, message.bodyBytes], [number, name.dueMs, 40]);
      assertEquals(retries.takeFound(found), null);
      queue.drop(message.ref, message.position, "acked");
      node.settle();
      assertEquals(lookUp(node, "q", name), null);
    }
  }
  const left = range(1, 400).filter((number) => ![1, 2, 50, 100, 399, 400].includes(number));
  assertEquals([node.find("q").delayedCount, numbersOf(await listed(node, "q"))], [394, left]);
  node = node.crash();
  assertEquals(numbersOf(await listed(node, "q")), left);
  node.t.turn(2 * DELAY_MS);
  node.settle();
  assertEquals(node.take("q", 1000), left.map((number) => number - 1));
});

Deno.test("a delayed message that is taken and returned comes back once, also after a crash", () => {
  for (const number of [1, 200, 400]) {
    let node = start();
    const startMs = node.t.nowMs;
    node.queue("q", RETRIES);
    delay(node, 400);
    const queue = node.find("q");
    const message = queue.retries!.takeFound(lookUp(node, "q", nameOf(number, node, startMs))!)!;
    const view = emptyView();
    node.store.describe(message.ref, view);
    queue.ready.acceptReturn(message.ref, message.position, message.entry, view);
    node.t.turn();
    node.settle();
    node = node.crash();
    assertEquals([node.find("q").readyCount, node.find("q").delayedCount], [1, 399]);
    assertEquals(node.take("q", 10), [number - 1]);
    node.t.turn(2 * DELAY_MS);
    node.settle();
    const others = range(0, 400).filter((other) => other !== number - 1);
    assertEquals(node.take("q", 1000), others);
  }
});

Deno.test("a delayed message that is taken has no timer any more", () => {
  for (const number of [1, 200, 400]) {
    const node = paged(400);
    const queue = node.find("q");
    const name = nameOf(number, node, 1_000_000);
    const timers = node.t.broker.scheduler.pendingCount;
    const found = lookUp(node, "q", name)!;
    const isFromPage = node.t.broker.scheduler.pendingCount > timers;
    const message = queue.retries!.takeFound(found)!;
    queue.drop(message.ref, message.position, "acked");
    if (!isFromPage) assertEquals(node.t.broker.scheduler.pendingCount, timers - 1);
    // Its row is used again.
    delay(node, 8, 400);
    node.t.turn(name.dueMs - node.t.nowMs);
    node.settle();
    node.t.turn(2 * DELAY_MS);
    node.settle();
    const others = range(0, 408).filter((other) => other !== number - 1);
    assertEquals(node.take("q", 1000), others);
  }
});

Deno.test("a delayed message that was taken before a crash, and nothing more, is delayed again", () => {
  let node = paged(400);
  const { dueMs } = nameOf(1, node, 1_000_000);
  const found = lookUp(node, "q", { dueMs, number: 1 })!;
  node.find("q").retries!.takeFound(found);
  node = node.crash();
  assertEquals(node.find("q").delayedCount, 400);
  assert(lookUp(node, "q", { dueMs, number: 1 }) !== null);
});

Deno.test("a delayed message that its timer has taken is not found, nor one under another name", () => {
  const node = paged(400);
  const startMs = 1_000_000;
  const name = nameOf(1, node, startMs);
  const found = lookUp(node, "q", name)!;
  for (const other of [{ ...name, dueMs: name.dueMs + 1 }, { ...name, number: 9000 }]) {
    assertEquals(lookUp(node, "q", other), null);
  }
  node.t.turn(name.dueMs - node.t.nowMs);
  node.settle();
  assertEquals(node.find("q").retries!.takeFound(found), null);
  assertEquals(lookUp(node, "q", name), null);
  assertEquals(node.take("q", 1), [0]);
});

Deno.test("a look into a page shows nothing when its messages have come to memory meanwhile", () => {
  const node = paged(400);
  const { delayed } = node.find("q").retries!;
  for (const isFirst of [true, false]) {
    const page = delayed.pageBetween(0, Infinity, new Set())!;
    let [seen, ended] = [0, 0];
    delayed.hurry(page, () => {});
    if (isFirst) node.t.turn();
    delayed.peek(page, {
      wantsAddresses: true,
      visit: () => seen++,
      ended: () => ended++,
    });
    if (!isFirst) node.t.turn();
    while (ended === 0 && node.disk.pendingCount > 0) node.disk.finishAt(0);
    assertEquals([seen, ended], [isFirst ? 0 : page.count, 1]);
    node.settle();
  }
});

Deno.test("a look for a delayed message ends when its queue is purged or its page cannot be read", () => {
  for (let purgeAt = 0; purgeAt < 6; purgeAt++) {
    const node = paged(400);
    const queue = node.find("q");
    const lookup = new RetryLookup(queue.retries!.delayed, nameOf(100, node, 1_000_000));
    if (purgeAt === 0) {
      for (let times = 0; times < 8; times++) node.disk.failNext("read", "EIO", "segment");
    }
    let steps = 0;
    let resumed = 0;
    while (lookup.step(64, () => resumed++) !== SCAN_DONE) {
      if (++steps === purgeAt) queue.purge();
      node.settle();
      assert(steps < 100);
    }
    assertEquals(lookup.found !== null, purgeAt > steps, `${purgeAt} of ${steps}`);
    assertGreater(resumed, 0);
    lookup.end();
    assertEquals(queue.retries!.delayed.scans.size, 0);
  }
});
