// Unsigned integers in as few bytes as they need: seven bits a byte, the lowest first, the top bit
// set in all but the last (LEB128). The store writes counts, positions and lengths with it; doubles
// up to 2^53 - 1 fit in eight bytes. It allocates nothing, and no bit operation loses a high bit.
//
//   300 = 0b10_0101100  →  1 0101100 | 0 0000010

import { assert } from "../lib/assert.ts";

/** The most bytes one number takes. */
export const VARINT_BYTES_MAX = 8;

const TWO_POW_28 = 0x1000_0000;
const TWO_POW_31 = 0x8000_0000;

/** The bytes are not the numbers that are expected there. */
export class VarintError extends Error {
  /** Creates the error. `message` says what was found. */
  constructor(message: string) {
    super(message);
    this.name = "VarintError";
  }
}

/**
 * Writes `value`, an integer from 0 to 2^53 - 1, at `at` and returns the offset behind it. The
 * caller has made room.
 */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  if (value >= TWO_POW_31) {
    assert(value <= Number.MAX_SAFE_INTEGER, "varint over 2^53 - 1");
    do {
      bytes[at++] = (value & 0x7f) | 0x80;
      value = Math.floor(value / 128);
    } while (value >= TWO_POW_31);
  }
  assert(value >= 0, "varint of a number below zero");
  while (value > 0x7f) {
    bytes[at++] = value | 0x80;
    value >>>= 7;
  }
  bytes[at++] = value;
  return at;
}

/** Reads numbers one after the other from `bytes[at, end)`. {@linkcode reset} makes it reusable. */
export class VarintReader {
  bytes: Uint8Array;
  /** Where the next number begins. */
  at: number;
  /** Where the numbers end. No byte at or behind it is read. */
  end: number;

  /** Creates a reader of `bytes[at, end)`. */
  constructor(bytes: Uint8Array, at: number = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** Goes on with `bytes[at, end)`. */
  reset(bytes: Uint8Array, at: number, end: number): void {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** Whether everything has been read. */
  get done(): boolean {
    return this.at >= this.end;
  }

  /**
   * Returns the next number.
   * @throws VarintError when it is cut short or larger than 2^53 - 1; `at` is where it began
   */
  next(): number {
    const { bytes, end } = this;
    let at = this.at;
    if (at >= end) throw truncated(this.at, end);
    let byte = bytes[at++]!;
    let value = byte & 0x7f;
    // Numbers of up to 28 bits, which nearly all are, are read as integers; larger ones as doubles.
    for (let shift = 7; byte > 0x7f && shift < 28; shift += 7) {
      if (at >= end) throw truncated(this.at, end);
      byte = bytes[at++]!;
      value |= (byte & 0x7f) << shift;
    }
    if (byte > 0x7f) return this.#nextLarge(at, value);
    this.at = at;
    return value;
  }

  #nextLarge(at: number, value: number): number {
    let byte = 0x80;
    for (let scale = TWO_POW_28; byte > 0x7f; scale *= 128) {
      if (at >= this.end) throw truncated(this.at, this.end);
      byte = this.bytes[at++]!;
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER || at - this.at > VARINT_BYTES_MAX) {
        throw new VarintError(`number over 2^53 - 1 at byte ${this.at}`);
      }
    }
    this.at = at;
    return value;
  }
}

function truncated(at: number, end: number): VarintError {
  return new VarintError(`number at byte ${at} is cut short by the end at byte ${end}`);
}
