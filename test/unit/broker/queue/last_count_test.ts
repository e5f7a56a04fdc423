// The x-delivery-count of dead letters is the one last delivered, whatever became of the message
// meanwhile, and after a restart too.

import { assertEquals } from "@std/assert";
import { longField } from "../../../../src/amqp/field_value.ts";
import { CAUSE_CLOSE, CAUSE_NACK, CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { DiskNode, PERSISTENT } from "../../../support/disk_node.ts";
import { type Plain, TestChannel } from "../../../support/test_broker.ts";

const DEAD: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const DURABLE = { durable: true };
const TTL_MS = 10_000;
const DELAY_MS = 100;

/** Ways in which a delivery ends with the message given back. */
type Return = "reject" | "nack" | "close";

interface Case {
  type: string;
  /** What happens to the first deliveries, one after another. */
  returns: Return[];
  /** Length of the queue. */
  lengthMax?: number;
}

const CASES: Case[] = [
  { type: "", returns: [] },
  { type: "", returns: ["nack"] },
  { type: "", returns: ["close", "reject"] },
  { type: "all", returns: ["close", "nack"] },
  { type: "failed", returns: ["nack"] },
  { type: "failed", returns: ["close", "nack"] },
  { type: "failed", returns: ["reject", "nack", "nack"] },
  { type: "failed", returns: ["nack", "reject"] },
  { type: "returned", returns: ["nack"] },
  { type: "returned", returns: ["reject", "nack"] },
  { type: "returned", returns: ["reject", "nack", "close"] },
];

function giveBack(channel: TestChannel, tag: number, how: Return): void {
  if (how === "close") channel.unacked.requeueAll(CAUSE_CLOSE, true);
  else channel.unacked.reject(tag, false, true, how === "reject" ? CAUSE_REJECT : CAUSE_NACK);
}

/** Delivers a message once for each return; the header of its last delivery, and the node. */
function played(one: Case, restarts: boolean): { node: DiskNode; last: number } {
  let node = new DiskNode();
  node.t.queue("dead", {}, DURABLE);
  const args: Plain = { ...DEAD, "x-delayed-retry-min": DELAY_MS, "x-message-ttl": TTL_MS };
  if (one.type !== "") args["x-delayed-retry-type"] = one.type;
  if (one.lengthMax !== undefined) args["x-max-length"] = one.lengthMax;
  node.t.queue("q", args, DURABLE);
  node.t.publish("q", "m", PERSISTENT);
  let last = 0;
  for (const how of one.returns) {
    node.settle(1, 1000);
    const channel = new TestChannel();
    const seen = node.get("q", channel)!;
    last = seen.deliveryCount;
    node.settle();
    giveBack(channel, seen.tag, how);
    node.settle();
    if (restarts) node = node.restart();
  }
  return { node, last };
}

function assertDead(node: DiskNode, reason: string, last: number, one: Case): void {
  node.settle(3);
  const seen = node.get("dead", new TestChannel())!;
  const { headers } = seen.properties;
  assertEquals(headers?.get("x-first-death-reason"), { tag: "S", value: reason });
  const expected = last === 0 ? undefined : longField(last);
  assertEquals(headers?.get("x-delivery-count"), expected, JSON.stringify(one));
}

for (const restarts of [false, true]) {
  const suffix = restarts ? ", after restarts" : "";

  Deno.test(`a message that expires while it waits is dead with the count last delivered${suffix}`, () => {
    for (const one of CASES) {
      const { node, last } = played(one, restarts);
      node.settle(1, TTL_MS);
      assertDead(node, "expired", last, one);
    }
  });

  Deno.test(`a message dropped for max-length is dead with the count last delivered${suffix}`, () => {
    for (const one of CASES) {
      const { node, last } = played({ ...one, lengthMax: 1 }, restarts);
      node.settle(1, 1000);
      node.t.publish("q", "next", PERSISTENT);
      assertDead(node, "maxlen", last, one);
    }
  });

  Deno.test(`a message rejected, or expired at its rejection, is dead with its count${suffix}`, () => {
    for (const one of CASES) {
      for (const expires of [false, true]) {
        const { node } = played(one, restarts);
        node.settle(1, 1000);
        const channel = new TestChannel();
        const seen = node.get("q", channel)!;
        node.settle(1, expires ? TTL_MS : 0);
        channel.unacked.reject(seen.tag, false, expires, CAUSE_REJECT);
        assertDead(node, expires ? "expired" : "rejected", seen.deliveryCount, one);
      }
    }
  });
}

Deno.test("a message over its limit after unspent deliveries is dead with the count last delivered", () => {
  const node = new DiskNode();
  node.t.queue("dead", {}, DURABLE);
  const args = { ...DEAD, "x-delayed-retry-min": 1, "x-delayed-retry-type": "failed" };
  node.t.queue("q", { ...args, "x-delivery-limit": 1 }, DURABLE);
  node.t.publish("q", "m", PERSISTENT);
  const counts: number[] = [];
  for (const cause of [CAUSE_NACK, CAUSE_REJECT, CAUSE_NACK, CAUSE_NACK, CAUSE_REJECT]) {
    node.settle(1, 10);
    const channel = new TestChannel();
    const seen = node.get("q", channel)!;
    counts.push(seen.deliveryCount);
    channel.unacked.reject(seen.tag, false, true, cause);
  }
  assertEquals(counts, [0, 0, 1, 1, 1]);
  assertDead(node, "delivery_limit", 1, { type: "failed", returns: [] });
});

Deno.test("a message over its limit when the node starts is dead with the count last delivered", () => {
  let node = new DiskNode();
  node.t.queue("dead", {}, DURABLE);
  node.t.queue("q", { ...DEAD, "x-delivery-limit": 1 }, DURABLE);
  node.t.publish("q", "m", PERSISTENT);
  for (let deliveries = 0; deliveries < 2; deliveries++) {
    node.settle();
    assertEquals(node.get("q", new TestChannel())!.deliveryCount, deliveries);
    node.settle();
    node = node.restart();
  }
  assertDead(node, "delivery_limit", 1, { type: "", returns: [] });
});
