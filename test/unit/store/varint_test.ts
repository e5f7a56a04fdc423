// Varints: what is written is read back, in as few bytes as promised, and nothing past the end.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { AssertionError } from "../../../src/lib/assert.ts";
import {
  putVarint,
  VARINT_BYTES_MAX,
  VarintError,
  VarintReader,
} from "../../../src/store/varint.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const numbers = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.maxSafeNat(),
  // Around every power of two, where a byte or a sign bit begins.
  fc.tuple(fc.integer({ min: 0, max: 52 }), fc.integer({ min: -2, max: 2 })).map(
    ([exponent, distance]) => Math.max(0, 2 ** exponent + distance),
  ),
);

/** The same encoding by BigInt. */
function naiveVarint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt(value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return [...bytes, Number(rest)];
}

Deno.test("putVarint() writes what BigInt arithmetic gives", () => {
  fc.assert(fc.property(numbers, (value) => {
    const bytes = new Uint8Array(12).fill(0xee);
    const end = putVarint(bytes, 2, value);
    assertEquals([...bytes.subarray(2, end)], naiveVarint(value));
    assertEquals([...bytes.subarray(end)], new Array(12 - end).fill(0xee));
  }));
});

Deno.test("VarintReader.next() reads back what putVarint() wrote", () => {
  fc.assert(fc.property(fc.array(numbers), (values) => {
    const bytes = new Uint8Array(2 + values.length * VARINT_BYTES_MAX).fill(0xff);
    let end = 1;
    for (const value of values) end = putVarint(bytes, end, value);
    const reader = new VarintReader(bytes, 1, end);
    assertEquals(values.map(() => reader.next()), values);
    assert(reader.done);
    assertThrows(() => reader.next(), VarintError, "cut short");
  }));
});

Deno.test("VarintReader.next() throws at every place a number can be cut", () => {
  const bytes = new Uint8Array(VARINT_BYTES_MAX);
  for (const value of [0, 127, 128, 16384, 2 ** 31, 2 ** 32, MAX]) {
    const end = putVarint(bytes, 0, value);
    for (let cut = 0; cut < end; cut++) {
      const reader = new VarintReader(bytes, 0, cut);
      assertThrows(
        () => reader.next(),
        VarintError,
        `byte 0 is cut short by the end at byte ${cut}`,
      );
      assertEquals(reader.at, 0);
    }
    assertEquals(new VarintReader(bytes, 0, end).next(), value);
  }
});

Deno.test("VarintReader.next() refuses numbers over 2^53 - 1", () => {
  const over = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
  assertThrows(() => new VarintReader(new Uint8Array(over)).next(), VarintError, "over 2^53 - 1");
  const endless = new Uint8Array(100).fill(0x80);
  assertThrows(() => new VarintReader(endless).next(), VarintError, "over 2^53 - 1");
});

Deno.test("VarintReader.reset() goes on with other bytes", () => {
  const reader = new VarintReader(new Uint8Array([1]));
  assertEquals(reader.next(), 1);
  reader.reset(new Uint8Array([9, 0xac, 0x02, 9]), 1, 3);
  assertEquals(reader.next(), 300);
  assert(reader.done);
});

Deno.test("putVarint() refuses what it cannot hold", () => {
  const bytes = new Uint8Array(16);
  for (const value of [-1, 2 ** 53, Infinity, NaN]) {
    assertThrows(() => putVarint(bytes, 0, value), AssertionError);
  }
});
