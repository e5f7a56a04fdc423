// Publisher confirms as clients understand them, over random mixes of publishes that are taken, refused,
// returned and made to wait for a slow disk: whoever takes `multiple` at its word learns of every publish
// what has become of it.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import * as M from "../../../src/amqp/methods_gen.ts";
import type { Incoming } from "../../support/amqp_client.ts";
import { joined } from "../../support/amqp_client.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { DurableNode } from "../../support/durable_node.ts";

type Kind = "kept" | "transient" | "refused" | "returned";
type Answer = "ack" | "nack";

/** Several publishes in one write, and what the disk does from then on. */
interface Write {
  readonly kinds: Kind[];
  readonly isHeld: boolean;
}

const KINDS: Kind[] = ["kept", "transient", "refused", "returned"];
const writes: fc.Arbitrary<Write[]> = fc.array(
  fc.record({
    kinds: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 9 }),
    isHeld: fc.boolean(),
  }),
  { maxLength: 12 },
);

const PERSISTENT = { properties: { deliveryMode: 2 } };

function framesOf(channel: ClientChannel, kind: Kind): Uint8Array {
  if (kind === "kept") return channel.publishFrames("q", kind, PERSISTENT);
  if (kind === "transient") return channel.publishFrames("q", kind);
  if (kind === "refused") return channel.publishFrames("full", kind, PERSISTENT);
  return channel.publishFrames("nowhere", kind, { mandatory: true });
}

/** A client that keeps what is outstanding: `multiple` is for all of it up to the tag. */
function byOutstanding(answers: readonly Incoming[]): (Answer | undefined)[] {
  const known: (Answer | undefined)[] = [];
  for (const { key, args } of answers) {
    const answer = key === M.BASIC_ACK ? "ack" : "nack";
    if (known[args.deliveryTag - 1] !== undefined) throw new Error("a tag is answered twice");
    known[args.deliveryTag - 1] = answer;
    if (!args.multiple) continue;
    for (let tag = 1; tag < args.deliveryTag; tag++) known[tag - 1] ??= answer;
  }
  return known;
}

/**
 * A client that expects tags in order: `multiple` is for every tag since the last one that it has come
 * to, whatever else it has heard of them meanwhile. amqp091-go counts so.
 */
function byExpected(answers: readonly Incoming[]): (Answer | undefined)[] {
  const known: (Answer | undefined)[] = [];
  const early = new Map<number, Answer>();
  for (const { key, args } of answers) {
    const answer = key === M.BASIC_ACK ? "ack" : "nack";
    if (args.multiple) { while (known.length < args.deliveryTag) known.push(answer); }
    else early.set(args.deliveryTag, answer);
    for (let next = known.length + 1; early.has(next); next++) known.push(early.get(next));
  }
  return known;
}

/** A client that takes `multiple` for every tag since the last answer that said so. */
function byCumulative(answers: readonly Incoming[]): (Answer | undefined)[] {
  const known: (Answer | undefined)[] = [];
  let cumulative = 0;
  for (const { key, args } of answers) {
    const answer = key === M.BASIC_ACK ? "ack" : "nack";
    known[args.deliveryTag - 1] = answer;
    if (!args.multiple) continue;
    while (cumulative < args.deliveryTag) known[cumulative++] = answer;
  }
  return known;
}

function confirmsOf(channel: ClientChannel): Incoming[] {
  return channel.client.inbox.filter(({ key }) => key === M.BASIC_ACK || key === M.BASIC_NACK);
}

function assertReturnedFirst(channel: ClientChannel, kinds: readonly Kind[]): void {
  let tag = 0;
  let returned = 0;
  for (const { key, args } of channel.client.inbox) {
    if (key === M.BASIC_RETURN) returned++;
    if (key === M.BASIC_ACK || key === M.BASIC_NACK) tag = Math.max(tag, args.deliveryTag);
    const due = kinds.slice(0, tag).filter((kind) => kind === "returned").length;
    assertEquals(returned >= due, true, "a confirm has overtaken the return of its message");
  }
}

function assertTold(script: readonly Write[]): void {
  const life = new DurableNode();
  const channel = life.node.connect().channel();
  channel.queue("q", {}, { durable: true });
  channel.queue("full", { "x-max-length": 0, "x-overflow": "reject-publish" }, { durable: true });
  channel.confirmSelect();
  channel.client.inbox.length = 0;
  for (const { kinds, isHeld } of script) {
    if (isHeld) life.hold();
    else life.release();
    channel.client.raw(joined(kinds.map((kind) => framesOf(channel, kind))));
  }
  life.release();
  const kinds = script.flatMap((write) => write.kinds);
  const expected = kinds.map((kind): Answer => kind === "refused" ? "nack" : "ack");
  const answers = confirmsOf(channel);
  assertEquals(byOutstanding(answers), expected);
  assertEquals(byExpected(answers), expected);
  assertEquals(byCumulative(answers), expected);
  assertReturnedFirst(channel, kinds);
  const { confirmed, nacked } = life.node.broker.metrics;
  assertEquals([confirmed + nacked, nacked], [
    kinds.length,
    expected.filter((answer) => answer === "nack").length,
  ]);
}

Deno.test("confirms tell clients that take multiple at its word what has become of every publish", () => {
  fc.assert(fc.property(writes, assertTold), { numRuns: 200 });
});

Deno.test("a cumulative ack does not cover a publish that a full queue has refused", () => {
  assertTold([{ kinds: ["kept", "refused", "kept"], isHeld: true }]);
});
