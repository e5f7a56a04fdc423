// Programs of the differential fuzzer are the same for the same seed, and keep the rules under which both
// brokers must agree.

import { assertEquals } from "@std/assert";
import { CHANNEL_COUNT, makeProgram, type Op } from "./program.ts";

const SEEDS = 300;

function* steps(): Iterable<readonly Op[]> {
  for (let seed = 0; seed < SEEDS; seed++) {
    // The first step declares everything at once.
    for (const { ops } of makeProgram(seed).steps.slice(1)) yield ops;
  }
}

Deno.test("makeProgram() gives the same program for the same seed", () => {
  assertEquals(makeProgram(7), makeProgram(7));
  assertEquals(JSON.stringify(makeProgram(7)) === JSON.stringify(makeProgram(8)), false);
});

Deno.test("makeProgram() uses every channel and every kind of method", () => {
  const channels = new Set<number>();
  for (const { channel } of makeProgram(3).steps) channels.add(channel);
  assertEquals(channels.size, CHANNEL_COUNT);
  const kinds = new Set<string>();
  for (const ops of steps()) for (const { kind } of ops) kinds.add(kind);
  assertEquals(kinds.size, 22);
});

Deno.test("makeProgram() begins a step with what has to find everything delivered", () => {
  const first = ["declare", "consume", "settle-all", "recover", "close", "disconnect"];
  for (const ops of steps()) {
    for (const { kind } of ops.slice(1)) assertEquals(first.includes(kind), false, kind);
  }
});

Deno.test("makeProgram() ends a step with what goes on after its answer", () => {
  for (const ops of steps()) {
    for (const op of ops.slice(0, -1)) {
      const goesOn = (op.kind === "tx" && op.what === "commit") || op.kind === "cancel" ||
        (op.kind === "settle" && op.how !== "ack" && !op.requeue);
      assertEquals(goesOn, false, op.kind);
    }
  }
});

Deno.test("makeProgram() cuts within the bytes of a step, in order", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    for (const { cuts } of makeProgram(seed).steps) {
      assertEquals(cuts, [...cuts].sort((a, b) => a - b));
      for (const cut of cuts) assertEquals(cut >= 0 && cut < 1, true);
    }
  }
});

Deno.test("makeProgram() sets up first, and only then", () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const flags = makeProgram(seed).steps.map(({ setsUp }) => setsUp);
    const firstOther = flags.indexOf(false);
    assertEquals(firstOther > 0, true);
    assertEquals(flags.lastIndexOf(true), firstOther - 1);
  }
});
