// Bytes that wait for the kernel: order, ownership of buffers, accounting.

import { assertEquals, assertNotEquals, assertStrictEquals } from "@std/assert";
import { Outgoing } from "../../../src/runtime/outgoing.ts";

function filled(byteCount: number, value: number): Uint8Array {
  return new Uint8Array(byteCount).fill(value);
}

/** Takes everything in steps of `step` bytes and returns what came, in order. */
function drain(outgoing: Outgoing, step: number): number[] {
  const bytes: number[] = [];
  for (let head = outgoing.head(); head !== undefined; head = outgoing.head()) {
    const count = Math.min(step, head.end - head.start);
    bytes.push(...head.buffer.subarray(head.start, head.start + count));
    outgoing.taken(count);
  }
  return bytes;
}

Deno.test("keep() copies a small write and gives the same buffer back", () => {
  const outgoing = new Outgoing();
  const buffer = filled(100, 1);
  assertStrictEquals(outgoing.keep(buffer, 10, 13), buffer);
  buffer.fill(9);
  assertEquals(outgoing.byteCount, 3);
  assertEquals(drain(outgoing, 10), [1, 1, 1]);
  assertEquals(outgoing.byteCount, 0);
});

Deno.test("keep() takes a large write's buffer and gives another one", () => {
  const outgoing = new Outgoing();
  const buffer = filled(40_000, 1);
  const next = outgoing.keep(buffer, 0, 40_000);
  assertEquals(next === buffer, false);
  assertStrictEquals(outgoing.head()?.buffer, buffer);
});

Deno.test("keep() collects many small writes in one run", () => {
  const outgoing = new Outgoing();
  const buffer = new Uint8Array(4);
  for (let i = 0; i < 100; i++) {
    buffer.fill(i);
    outgoing.keep(buffer, 0, 4);
  }
  const head = outgoing.head()!;
  assertEquals(head.end - head.start, 400);
  const bytes = drain(outgoing, 7);
  assertEquals(bytes.length, 400);
  assertEquals(bytes.filter((value, at) => value !== Math.floor(at / 4)), []);
});

Deno.test("taken() keeps the order over every mixture of small and large writes", () => {
  for (const step of [1, 1000, 16_384, 100_000]) {
    const outgoing = new Outgoing();
    const expected: number[] = [];
    for (const [at, byteCount] of [5, 20_000, 3, 16_384, 16_385, 1].entries()) {
      outgoing.keep(filled(byteCount, at), 0, byteCount);
      for (let i = 0; i < byteCount; i++) expected.push(at);
    }
    assertEquals(outgoing.byteCount, expected.length);
    assertEquals(drain(outgoing, step), expected);
    assertEquals(outgoing.byteCount, 0);
  }
});

Deno.test("hold() keeps even a small write's buffer, because someone still reads it", () => {
  const outgoing = new Outgoing();
  const buffer = filled(8, 7);
  assertNotEquals(outgoing.hold(buffer, 0, 8).length, 0);
  assertStrictEquals(outgoing.head()?.buffer, buffer);
  outgoing.keep(filled(2, 1), 0, 2);
  assertEquals(drain(outgoing, 100), [7, 7, 7, 7, 7, 7, 7, 7, 1, 1]);
});

Deno.test("clear() forgets everything", () => {
  const outgoing = new Outgoing();
  outgoing.keep(filled(8, 7), 0, 8);
  outgoing.clear();
  assertEquals([outgoing.byteCount, outgoing.head()], [0, undefined]);
});
