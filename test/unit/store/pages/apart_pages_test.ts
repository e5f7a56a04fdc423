// Messages that stand apart because their header does not fit a consumer, out of a backlog that lies on
// pages and with contents that memory has given up: they stay where a crash finds them.

import { assert, assertEquals } from "@std/assert";
import { textField } from "../../../../src/amqp/field_value.ts";
import { setAsideCount } from "../../../../src/broker/queue/put_apart.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { numberOf, PagedNode, PERSISTENT, range } from "../support/paged_node.ts";

const LARGE = { ...PERSISTENT, headers: new Map([["fill", textField("x".repeat(200))]]) };
const COUNT = 400;

/** Has a client that takes no large headers take whatever it can. */
function takeSmall(node: PagedNode): number[] {
  const channel = new TestChannel();
  const consumer = node.t.consume(node.find("q"), channel, { prefetch: 10, headerBytesMax: 100 });
  const numbers: number[] = [];
  for (;;) {
    node.settle();
    const seen = channel.drain();
    if (seen.length === 0) break;
    for (const one of seen) numbers.push(numberOf(one));
    channel.unacked.ack(0, true);
  }
  node.find("q").cancel(consumer);
  return numbers;
}

Deno.test("messages apart from a paged queue survive snapshots and a crash, in their order", () => {
  let node = new PagedNode(new MemoryDisk());
  node.queue("q");
  const isLarge = (number: number) => number % 4 === 0;
  for (let number = 0; number < COUNT; number++) {
    node.publish("q", number, 1, isLarge(number) ? LARGE : PERSISTENT);
  }
  const small = range(0, COUNT).filter((number) => !isLarge(number));
  const large = range(0, COUNT).filter(isLarge);
  assert(node.store.liveMessageCount === COUNT);
  assertEquals(takeSmall(node), small);
  assertEquals([setAsideCount(node.find("q")), node.find("q").readyCount], [100, 100]);
  // Enough for snapshots and for files to be given up.
  for (let round = 0; round < 10; round++) {
    node.queue("busy");
    node.publish("busy", 0, 100);
    node.take("busy", 100);
  }
  assert(node.files("snapshot").length > 0, "there is no snapshot");
  assertEquals(setAsideCount(node.find("q")), 100);
  node = node.crash();
  assertEquals(takeSmall(node), []);
  assertEquals(setAsideCount(node.find("q")), 100);
  const most = node.take("q", 60);
  node = node.crash();
  assertEquals([...most, ...node.take("q", COUNT)], large);
  assertEquals([node.errors, node.t.broker.apartBytes, node.store.liveMessageCount], [[], 0, 0]);
});
