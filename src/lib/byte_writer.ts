// A growable run of bytes for frames, records and tables, big-endian. One writer at a time owns it
// (a connection's outbox, a store batch). It never writes anywhere by itself. Hot writers call
// `ensure` once, fill `bytes` directly and advance `byteCount`. The storage is made at the first
// write, so an idle writer owns none.

import { assert } from "./assert.ts";
import {
  copyBytes,
  copyOfRange,
  dropBytes,
  EMPTY_BYTES,
  putF32,
  putF64,
  putI64,
  putU16,
  putU32,
} from "./bytes.ts";
import { encodeTextInto } from "./text.ts";

const CAPACITY_MIN = 256;
// The most bytes that `take` reserves for the next round, so that one burst does not stay for ever.
const EXPECTED_BYTES_MAX = 1024 * 1024;
// Storage of at least this size is given back at once when it is outgrown.
const DROPPED_BYTES_MIN = 65_536;
const SHORT_STRING_BYTES_MAX = 255;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** A growable big-endian byte buffer. `bytes[0, byteCount)` has been written. */
export class ByteWriter {
  /** The storage. It is replaced when it grows, so never keep it across a write. */
  bytes: Uint8Array = EMPTY_BYTES;
  /** How many bytes of `bytes` are written. */
  byteCount = 0;
  readonly #capacityMin: number;
  #nextCapacity: number;

  /** Creates a writer whose first storage has `capacity` bytes. */
  constructor(capacity: number = CAPACITY_MIN) {
    this.#capacityMin = Math.max(capacity, 1);
    this.#nextCapacity = this.#capacityMin;
  }

  /** Makes room for `byteCount` more bytes without writing any. */
  ensure(byteCount: number): void {
    const needed = this.byteCount + byteCount;
    if (needed > this.bytes.length) this.#grow(needed);
  }

  #grow(needed: number): void {
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2, this.#nextCapacity));
    grown.set(this.bytes.subarray(0, this.byteCount));
    if (this.bytes.length >= DROPPED_BYTES_MIN) dropBytes(this.bytes);
    this.bytes = grown;
  }

  /** Claims `byteCount` bytes to be filled later and returns where they begin. */
  reserve(byteCount: number): number {
    this.ensure(byteCount);
    const at = this.byteCount;
    this.byteCount += byteCount;
    return at;
  }

  /** Appends an unsigned 8-bit integer. */
  u8(value: number): void {
    this.ensure(1);
    this.bytes[this.byteCount++] = value;
  }

  /** Appends an unsigned 16-bit integer. */
  u16(value: number): void {
    const at = this.reserve(2);
    putU16(this.bytes, at, value);
  }

  /** Appends a 32-bit integer, signed or unsigned. */
  u32(value: number): void {
    const at = this.reserve(4);
    putU32(this.bytes, at, value);
  }

  /** Appends a 64-bit integer of at most 53 bits, negative ones as two's complement. */
  u64(value: number): void {
    const at = this.reserve(8);
    putI64(this.bytes, at, value);
  }

  /** Appends a 64-bit integer given as BigInt, signed or unsigned. Never used on the hot path. */
  u64FromBigInt(value: bigint): void {
    const wrapped = value & U64_MAX;
    this.u32(Number(wrapped >> 32n));
    this.u32(Number(wrapped & 0xffff_ffffn));
  }

  /** Appends an IEEE 754 double. */
  f64(value: number): void {
    const at = this.reserve(8);
    putF64(this.bytes, at, value);
  }

  /** Appends an IEEE 754 single. */
  f32(value: number): void {
    const at = this.reserve(4);
    putF32(this.bytes, at, value);
  }

  /** Appends `source[start, end)`. */
  range(source: Uint8Array, start: number, end: number): void {
    const at = this.reserve(end - start);
    copyBytes(this.bytes, at, source, start, end);
  }

  /** Appends all of `source`. */
  all(source: Uint8Array): void {
    this.range(source, 0, source.length);
  }

  /** Appends text as UTF-8 and returns how many bytes it took. */
  text(text: string): number {
    this.ensure(text.length * 3);
    const written = encodeTextInto(text, this.bytes, this.byteCount);
    this.byteCount += written;
    return written;
  }

  /** Appends a short string: one length octet, then at most 255 bytes of UTF-8. */
  shortString(text: string): void {
    const at = this.reserve(1);
    const written = this.text(text);
    assert(written <= SHORT_STRING_BYTES_MAX, "short string over 255 bytes");
    this.bytes[at] = written;
  }

  /** Appends a short string whose bytes are `source[start, end)`. */
  shortBytes(source: Uint8Array, start: number, end: number): void {
    assert(end - start <= SHORT_STRING_BYTES_MAX, "short string over 255 bytes");
    this.u8(end - start);
    this.range(source, start, end);
  }

  /** Appends a long string: a 32-bit length, then text as UTF-8 or bytes as they are. */
  longString(value: string | Uint8Array): void {
    const at = this.reserve(4);
    if (typeof value === "string") this.text(value);
    else this.all(value);
    this.patchU32(at, this.byteCount - at - 4);
  }

  /** Overwrites four bytes at `at` with a 32-bit integer, for lengths known only afterwards. */
  patchU32(at: number, value: number): void {
    assert(at >= 0 && at + 4 <= this.byteCount, "patch outside what is written");
    putU32(this.bytes, at, value);
  }

  /** Overwrites two bytes at `at` with a 16-bit integer. */
  patchU16(at: number, value: number): void {
    assert(at >= 0 && at + 2 <= this.byteCount, "patch outside what is written");
    putU16(this.bytes, at, value);
  }

  /** Drops everything after `byteCount`, keeping the storage. */
  truncate(byteCount: number): void {
    assert(byteCount <= this.byteCount, "truncating to more than is written");
    this.byteCount = byteCount;
  }

  /** Forgets the written bytes and keeps the storage, for a caller that has copied the bytes. */
  reset(): void {
    this.byteCount = 0;
  }

  /**
   * Hands over the written bytes with their storage. The next write makes new storage, as large as
   * this round needed, so that a busy writer does not grow anew every turn.
   */
  take(): Uint8Array {
    const taken = this.bytes.subarray(0, this.byteCount);
    const expected = Math.min(this.byteCount, EXPECTED_BYTES_MAX);
    this.#nextCapacity = Math.max(expected, this.#capacityMin);
    this.bytes = EMPTY_BYTES;
    this.byteCount = 0;
    return taken;
  }

  /** Returns a copy of the written bytes, for callers that keep it. */
  copy(): Uint8Array {
    return copyOfRange(this.bytes, 0, this.byteCount);
  }
}
