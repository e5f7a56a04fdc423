// Tests of src/lib/bytes.ts: integers at their limits against DataView, copies around the point where
// the method changes, comparison and hashing. Run by every unit test run.

import { assert, assertEquals, assertFalse } from "@std/assert";
import {
  bytesEqual,
  copyBytes,
  copyOfRange,
  dropBytes,
  hashBytes,
  putI64,
  putU16,
  putU32,
  rangeEquals,
  readU16,
  readU32,
  readU64,
} from "../../../src/lib/bytes.ts";

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

Deno.test("putU16() and readU16() agree with DataView at the limits", () => {
  for (const value of [0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff]) {
    const bytes = new Uint8Array(4);
    putU16(bytes, 1, value);
    assertEquals(viewOf(bytes).getUint16(1), value);
    assertEquals(readU16(bytes, 1), value);
  }
});

Deno.test("putU32() and readU32() agree with DataView at the limits", () => {
  for (const value of [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]) {
    const bytes = new Uint8Array(6);
    putU32(bytes, 2, value);
    assertEquals(viewOf(bytes).getUint32(2), value);
    assertEquals(readU32(bytes, 2), value);
  }
});

Deno.test("putI64() keeps every safe integer", () => {
  const values = [0, 1, -1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, -(2 ** 53) + 1];
  for (const value of values) {
    const bytes = new Uint8Array(9);
    putI64(bytes, 1, value);
    assertEquals(viewOf(bytes).getBigInt64(1), BigInt(value));
    if (value >= 0) assertEquals(readU64(bytes, 1), value);
  }
});

Deno.test("readU64() rounds like Number() when the value is beyond 2^53", () => {
  const bytes = new Uint8Array(8).fill(0xff);
  assertEquals(readU64(bytes, 0), 2 ** 64);
});

Deno.test("copyBytes() copies exactly the range when it is shorter or longer than the loop's limit", () => {
  const source = Uint8Array.from({ length: 200 }, (_, i) => i);
  for (const byteCount of [0, 1, 47, 48, 49, 50, 150]) {
    const target = new Uint8Array(200).fill(255);
    copyBytes(target, 5, source, 10, 10 + byteCount);
    assertEquals(target.subarray(5, 5 + byteCount), source.subarray(10, 10 + byteCount));
    assertEquals(target[4], 255);
    assertEquals(target[5 + byteCount], 255);
  }
});

Deno.test("rangeEquals() compares the range only when lengths agree", () => {
  const bytes = Uint8Array.of(1, 2, 3, 4);
  assert(rangeEquals(bytes, 1, 3, Uint8Array.of(2, 3)));
  assertFalse(rangeEquals(bytes, 1, 3, Uint8Array.of(2, 4)));
  assertFalse(rangeEquals(bytes, 1, 3, Uint8Array.of(2)));
  assert(rangeEquals(bytes, 2, 2, new Uint8Array(0)));
  assert(bytesEqual(bytes, bytes.slice()));
  assertFalse(bytesEqual(bytes, bytes.subarray(1)));
});

Deno.test("hashBytes() gives FNV-1a's known values when hashing short texts", () => {
  const hash = (text: string) => hashBytes(new TextEncoder().encode(text), 0, text.length);
  assertEquals(hash(""), 0x811c9dc5);
  assertEquals(hash("a"), 0xe40c292c);
  assertEquals(hash("foobar"), 0xbf9cf968);
});

Deno.test("hashBytes() chains ranges when the hash of the first is the seed of the second", () => {
  const bytes = new TextEncoder().encode("foobar");
  assertEquals(hashBytes(bytes, 3, 6, hashBytes(bytes, 0, 3)), hashBytes(bytes, 0, 6));
});

Deno.test("copyOfRange() shares no memory when the bytes are a subclass that slices by reference", () => {
  // As Node's Buffer does.
  class Sharing extends Uint8Array<ArrayBuffer> {
    override slice(start?: number, end?: number): Uint8Array<ArrayBuffer> {
      return this.subarray(start, end);
    }
  }
  const bytes = Sharing.of(1, 2, 3);
  const copy = copyOfRange(bytes, 1, 3);
  bytes.fill(9);
  assertEquals(copy, Uint8Array.of(2, 3));
});

Deno.test("dropBytes() gives back what is a whole buffer and leaves views alone", () => {
  const bytes = new Uint8Array(100_000);
  const view = new Uint8Array(100).subarray(10, 20);
  const empty = new Uint8Array(0);
  for (const one of [bytes, view, empty]) dropBytes(one);
  assertEquals(bytes.length, 0);
  assertEquals(bytes.buffer.byteLength, 0);
  assertEquals(view.length, 10);
  dropBytes(bytes);
});
