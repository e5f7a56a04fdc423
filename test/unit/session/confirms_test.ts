// Publisher confirms: few frames, never too early, nacks and returns in their place.

import { assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { Confirms, SAFE_AT_TURN_END } from "../../../src/session/confirms.ts";
import { FrameParser } from "../../../src/amqp/frame_parser.ts";
import { readU32 } from "../../../src/lib/bytes.ts";
import { ByteWriter } from "../../../src/lib/byte_writer.ts";
import { joined } from "../../support/amqp_client.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { TestNode } from "../../support/test_node.ts";

function confirming(node: TestNode): ClientChannel {
  const channel = node.connect().channel();
  channel.queue("q");
  channel.confirmSelect();
  return channel;
}

Deno.test("confirms of a turn leave one by one up to four, together above that", () => {
  const node = new TestNode();
  const channel = confirming(node);
  const publish = (count: number) => {
    channel.client.raw(
      joined(Array.from({ length: count }, () => channel.publishFrames("q", "x"))),
    );
    return channel.confirms();
  };
  assertEquals(publish(2), ["+1", "+2"]);
  assertEquals(publish(4), ["+3", "+4", "+5", "+6"]);
  assertEquals(publish(5), ["+11*"]);
  assertEquals(publish(1), ["+12"]);
  assertEquals(node.broker.metrics.confirmed, 12);
});

Deno.test("confirms count publishes from 1 after confirm.select", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.publish("q", "before");
  channel.confirmSelect();
  channel.confirmSelect();
  channel.publish("q", "after");
  assertEquals(channel.confirms(), ["+1"]);
});

Deno.test("confirms ack what is unroutable, after its return", () => {
  const channel = confirming(new TestNode());
  channel.publish("nowhere", "x", { mandatory: true });
  const names = channel.client.inbox.map(({ name }) => name);
  assertEquals(names, ["basic.return", "basic.ack"]);
  channel.client.inbox.length = 0;
  channel.publish("nowhere", "x");
  assertEquals(channel.confirms(), ["+2"]);
});

Deno.test("confirms nack what a full queue refused, once each", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("full", { "x-max-length": 2, "x-overflow": "reject-publish" });
  channel.confirmSelect();
  const frames = ["1", "2", "3", "4"].map((body) => channel.publishFrames("full", body));
  channel.client.raw(joined(frames));
  assertEquals(channel.confirms(), ["+1", "+2", "-3", "-4"]);
  assertEquals([node.broker.metrics.confirmed, node.broker.metrics.nacked], [2, 2]);
  channel.get("full", true);
  channel.client.raw(joined(frames.slice(0, 2)));
  assertEquals(channel.confirms(), ["+5", "-6"]);
});

Deno.test("Confirms answers a few of a turn singly and in order, whatever they are", () => {
  const confirms = new Confirms();
  confirms.accepted(confirms.nextTag(), SAFE_AT_TURN_END);
  confirms.refused(confirms.nextTag());
  confirms.accepted(confirms.nextTag(), 5);
  confirms.refused(confirms.nextTag());
  assertEquals(settled(confirms, 4), ["+1", "-2"]);
  assertEquals(settled(confirms, 5), ["+3", "-4"]);
});

Deno.test("Confirms answers many of a turn together as far as they are alike", () => {
  const confirms = new Confirms();
  add(confirms, "++++--+---");
  assertEquals(settled(confirms, 0), ["+4*", "-6*", "+7*", "-10*"]);
});

Deno.test("Confirms passes no single answer of another kind with a cumulative one", () => {
  const confirms = new Confirms();
  add(confirms, "++");
  assertEquals(settled(confirms, 0), ["+1", "+2"]);
  add(confirms, "+++++");
  assertEquals(settled(confirms, 0), ["+7*"]);
  add(confirms, "-");
  assertEquals(settled(confirms, 0), ["-8"]);
  add(confirms, "+++++");
  assertEquals(settled(confirms, 0), ["+9", "+10", "+11", "+12", "+13"]);
});

/** Publishes that are decided when the turn is over. */
function add(confirms: Confirms, outcomes: string): void {
  for (const outcome of outcomes) {
    const tag = confirms.nextTag();
    if (outcome === "+") confirms.accepted(tag, SAFE_AT_TURN_END);
    else confirms.refused(tag);
  }
}

Deno.test("confirms of several channels are separate", () => {
  const client = new TestNode().connect();
  const one = client.channel();
  const two = client.channel();
  one.queue("q");
  one.confirmSelect();
  two.confirmSelect();
  client.raw(joined([
    one.publishFrames("q", "1"),
    two.publishFrames("q", "1"),
    one.publishFrames("q", "2"),
  ]));
  assertEquals([one.confirms(), two.confirms()], [["+1", "+2"], ["+1"]]);
});

Deno.test("confirm.select with nowait is not answered", () => {
  const channel = new TestNode().connect().channel();
  channel.send(M.CONFIRM_SELECT, { nowait: true });
  assertEquals(channel.client.inbox.length, 0);
});

/** What `settle` writes when batches up to `safeBatch` are decided: `+3*`, `-5`. */
function settled(confirms: Confirms, safeBatch: number, failed: number[] = []): string[] {
  const out = new ByteWriter();
  const store = { safeBatch, isFailed: (batch: number) => failed.includes(batch) };
  confirms.settle(out, 1, store, { confirmed: 0, nacked: 0 });
  const parser = new FrameParser();
  parser.push(out.bytes, 0, out.byteCount);
  const texts: string[] = [];
  while (parser.next()) {
    const { buffer, payloadStart, payloadEnd } = parser;
    const args = M.decodeBasicAck(buffer, payloadStart + 4, payloadEnd);
    const sign = readU32(buffer, payloadStart) === M.BASIC_ACK ? "+" : "-";
    texts.push(`${sign}${args.deliveryTag}${args.multiple ? "*" : ""}`);
  }
  return texts;
}

Deno.test("Confirms never acks past a publish that waits for its batch", () => {
  const confirms = new Confirms();
  confirms.accepted(confirms.nextTag(), SAFE_AT_TURN_END);
  confirms.accepted(confirms.nextTag(), 5);
  confirms.accepted(confirms.nextTag(), SAFE_AT_TURN_END);
  confirms.accepted(confirms.nextTag(), 6);
  assertEquals(confirms.hasSafe(4), true);
  assertEquals(settled(confirms, 4), ["+1"]);
  assertEquals(confirms.hasSafe(4), false);
  assertEquals(settled(confirms, 4), []);
  assertEquals(confirms.isWaiting, true);
  assertEquals(settled(confirms, 5), ["+2", "+3"]);
  confirms.accepted(confirms.nextTag(), SAFE_AT_TURN_END);
  assertEquals(settled(confirms, 6), ["+4", "+5"]);
  assertEquals(confirms.isWaiting, false);
});

Deno.test("Confirms acks several batches that became safe together at once", () => {
  const confirms = new Confirms();
  for (const batch of [1, 1, 1, 1, 2, 3]) confirms.accepted(confirms.nextTag(), batch);
  assertEquals(settled(confirms, 2), ["+5*"]);
  assertEquals(settled(confirms, 3), ["+6"]);
});

Deno.test("Confirms forgets everything when its channel is gone", () => {
  const confirms = new Confirms();
  confirms.accepted(confirms.nextTag(), SAFE_AT_TURN_END);
  confirms.accepted(confirms.nextTag(), 9);
  confirms.clear();
  assertEquals([confirms.isWaiting, settled(confirms, 99)], [false, []]);
});

Deno.test("Confirms nacks what a failed batch held, after acking what came before", () => {
  const confirms = new Confirms();
  for (const batch of [1, 1, 2, 2, 3]) confirms.accepted(confirms.nextTag(), batch);
  assertEquals(settled(confirms, 3, [2]), ["+2*", "-4*", "+5*"]);
  assertEquals(confirms.isWaiting, false);
});
