// The freedom that the comparison gives to a return under a used-up limit of the channel is as narrow as
// docs/differences.md says.

import { assertEquals } from "@std/assert";
import type { Op, Program, QueueKind, Step } from "./program.ts";
import { afterOpen, differsInOrder, dropsBefore, overtakes } from "./run.ts";
import { type Seen, View } from "./view.ts";

const REJECT: Op = { kind: "settle", how: "reject", requeue: true, multiple: false, pick: 0 };

function holding(count: number, channelLimit: number): View {
  const view = new View();
  view.channelLimit = channelLimit;
  for (let tag = 1; tag <= count; tag++) {
    view.unsettled.set(tag, { key: `c m${tag}.`, queue: "q", consumerTag: "c" });
  }
  return view;
}

Deno.test("overtakes() is for returns under a limit of the channel that is used up", () => {
  assertEquals(overtakes(holding(2, 2), [REJECT]), true);
  assertEquals(overtakes(holding(2, 2), [{ ...REJECT, how: "nack" }]), true);
  assertEquals(
    overtakes(holding(2, 2), [{ kind: "settle-all", how: "nack", requeue: true }]),
    true,
  );
  assertEquals(overtakes(holding(2, 2), [{ kind: "recover", how: "async" }]), true);
});

Deno.test("overtakes() is for returns with an ack in the same step", () => {
  const ack: Op = { ...REJECT, how: "ack" };
  assertEquals(overtakes(holding(2, 0), [REJECT, ack]), true);
  assertEquals(overtakes(holding(2, 0), [ack, REJECT]), true);
  assertEquals(overtakes(holding(2, 0), [ack, { ...REJECT, requeue: false }]), false);
});

Deno.test("overtakes() is not for acks, other limits, or room that is left", () => {
  assertEquals(overtakes(holding(1, 2), [REJECT]), false);
  assertEquals(overtakes(holding(2, 0), [REJECT]), false);
  assertEquals(overtakes(holding(2, 2), [{ ...REJECT, how: "ack" }]), false);
  assertEquals(overtakes(holding(2, 2), [{ ...REJECT, requeue: false }]), false);
  assertEquals(overtakes(holding(2, 2), [{ kind: "recover", how: "without-requeue" }]), false);
  assertEquals(overtakes(holding(2, 2), [{ kind: "tx", what: "commit" }]), false);
});

Deno.test("overtakes() sees the returns that a transaction holds", () => {
  const view = holding(1, 2);
  view.isTx = true;
  view.held.set(2, { key: "c m2.", queue: "q", consumerTag: "c" });
  assertEquals(overtakes(view, [{ kind: "tx", what: "commit" }]), true);
  assertEquals(overtakes(view, [{ kind: "tx", what: "rollback" }]), false);
});

Deno.test("dropsBefore() is for returns to a queue that drops into an exchange, before a publish", () => {
  const args = { "x-max-length": 3, "x-overflow": "drop-head", "x-dead-letter-exchange": "fx" };
  const program = (more: QueueKind["args"]): Program => {
    const queue = { name: "q", durable: true, exclusive: false, autoDelete: false, args: more };
    return { hasAlternate: false, queues: [queue], steps: [] };
  };
  const publish = { kind: "publish" } as Op;
  const view = holding(2, 0);
  assertEquals(dropsBefore(program(args), view, [REJECT, publish]), true);
  assertEquals(dropsBefore(program(args), view, [REJECT]), false);
  assertEquals(dropsBefore(program(args), view, [{ ...REJECT, how: "ack" }, publish]), false);
  const { "x-max-length": _, ...unlimited } = args;
  assertEquals(dropsBefore(program(unlimited), view, [REJECT, publish]), false);
  assertEquals(
    dropsBefore(program({ ...args, "x-overflow": "reject-publish" }), view, [REJECT, publish]),
    false,
  );
});

Deno.test("overtakes() is for a commit that frees consumers, whatever their limit", () => {
  const view = holding(0, 0);
  view.isTx = true;
  assertEquals(overtakes(view, [{ kind: "tx", what: "commit" }]), false);
  view.held.set(1, { key: "c m1.", queue: "q", consumerTag: "c" });
  assertEquals(overtakes(view, [{ kind: "tx", what: "commit" }]), true);
});

Deno.test("differsInOrder() is for as many deliveries in all, to whomever", () => {
  const given = (...lists: string[][]): Seen[] =>
    lists.map((list) => ({ ...new View().seen, deliveries: { c: list } }));
  assertEquals(differsInOrder([given(["m1"], []), given([], ["m2"])]), true);
  assertEquals(differsInOrder([given(["m1", "m2"]), given(["m2", "m1"])]), true);
  assertEquals(differsInOrder([given(["m1"]), given([])]), false);
  assertEquals(differsInOrder([given(["m1"]), given(["m1", "m1"])]), false);
});

Deno.test("afterOpen() sets up anew and goes on with the next step, if there is one", () => {
  const step = (channel: number, setsUp: boolean): Step => ({ channel, ops: [], cuts: [], setsUp });
  const setUp = [step(0, true), step(1, true)];
  const others = [step(2, false), step(3, false)];
  assertEquals(afterOpen(others, setUp), [...setUp, ...others]);
  assertEquals(afterOpen([setUp[1]!, ...others], setUp), [...setUp, ...others]);
  assertEquals(afterOpen([], setUp), []);
  assertEquals(afterOpen(setUp, setUp), []);
});
