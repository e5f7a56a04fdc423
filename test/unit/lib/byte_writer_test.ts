// Tests of src/lib/byte_writer.ts: layouts against DataView, growth, patches and ownership of the
// storage. Run by every unit test run.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { AssertionError } from "../../../src/lib/assert.ts";
import { ByteWriter } from "../../../src/lib/byte_writer.ts";

Deno.test("ByteWriter writes big-endian values in order when it has to grow", () => {
  const out = new ByteWriter(1);
  out.u8(0xab);
  out.u16(0xcdef);
  out.u32(0xfffffffe);
  out.u64(2 ** 53 - 1);
  out.u64(-2);
  out.u64FromBigInt(-(2n ** 63n));
  out.u64FromBigInt(2n ** 64n - 1n);
  out.f64(-0.5);
  out.f32(1.5);
  const bytes = out.copy();
  const view = new DataView(bytes.buffer);
  assertEquals(bytes.length, 1 + 2 + 4 + 5 * 8 + 4);
  assertEquals(view.getUint8(0), 0xab);
  assertEquals(view.getUint16(1), 0xcdef);
  assertEquals(view.getUint32(3), 0xfffffffe);
  assertEquals(view.getBigUint64(7), 2n ** 53n - 1n);
  assertEquals(view.getBigInt64(15), -2n);
  assertEquals(view.getBigInt64(23), -(2n ** 63n));
  assertEquals(view.getBigUint64(31), 2n ** 64n - 1n);
  assertEquals(view.getFloat64(39), -0.5);
  assertEquals(view.getFloat32(47), 1.5);
});

Deno.test("ByteWriter.shortString() writes a length octet and UTF-8", () => {
  const out = new ByteWriter();
  out.shortString("é");
  out.shortString("");
  out.shortBytes(Uint8Array.of(9, 8, 7), 1, 3);
  assertEquals(out.copy(), Uint8Array.of(2, 0xc3, 0xa9, 0, 2, 8, 7));
});

Deno.test("ByteWriter.shortString() throws when the text has more than 255 bytes", () => {
  const out = new ByteWriter();
  out.shortString("a".repeat(255));
  assertThrows(() => out.shortString("é".repeat(128)), AssertionError);
  assertThrows(() => out.shortBytes(new Uint8Array(256), 0, 256), AssertionError);
});

Deno.test("ByteWriter.longString() writes text and bytes with a 32-bit length", () => {
  const out = new ByteWriter();
  out.longString("é");
  out.longString(Uint8Array.of(1));
  assertEquals(out.copy(), Uint8Array.of(0, 0, 0, 2, 0xc3, 0xa9, 0, 0, 0, 1, 1));
});

Deno.test("ByteWriter.patchU32() fills what was reserved when the length is known", () => {
  const out = new ByteWriter();
  const at = out.reserve(4);
  out.all(new Uint8Array(3));
  out.patchU32(at, out.byteCount - at - 4);
  out.patchU16(at, 0x0102);
  assertEquals(out.copy(), Uint8Array.of(1, 2, 0, 3, 0, 0, 0));
  assertThrows(() => out.patchU32(4, 1), AssertionError);
  assertThrows(() => out.patchU16(-1, 1), AssertionError);
});

Deno.test("ByteWriter.truncate() drops the tail and refuses to invent one", () => {
  const out = new ByteWriter();
  out.all(Uint8Array.of(1, 2, 3));
  out.truncate(1);
  assertEquals(out.copy(), Uint8Array.of(1));
  assertThrows(() => out.truncate(2), AssertionError);
});

Deno.test("ByteWriter.take() hands over the storage when the writer goes on", () => {
  const out = new ByteWriter(4);
  out.all(Uint8Array.of(1, 2, 3));
  const taken = out.take();
  assertEquals(out.byteCount, 0);
  out.all(Uint8Array.of(9, 9, 9));
  assertEquals(taken, Uint8Array.of(1, 2, 3));
  assert(out.bytes.buffer !== taken.buffer);
});

Deno.test("ByteWriter.take() makes the next storage as large as the last round needed", () => {
  const out = new ByteWriter(4);
  out.all(new Uint8Array(5000));
  out.take();
  assertEquals(out.bytes.length, 0);
  out.u8(1);
  assert(out.bytes.length >= 5000);
  out.take();
  out.u8(1);
  assert(out.bytes.length < 100);
});

Deno.test("ByteWriter.reset() keeps the storage when its content was copied", () => {
  const out = new ByteWriter();
  out.u8(1);
  const storage = out.bytes;
  out.reset();
  out.u8(2);
  assert(out.bytes === storage);
  assertEquals(out.copy(), Uint8Array.of(2));
});
