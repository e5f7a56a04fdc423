// Field tables and arrays between wire bytes and FieldTable, within limits of depth and size.
// Called for method arguments, SASL responses and wherever headers must be decoded. The result is
// always a copy, because the wire buffer may be reused. Bytes that do not decode are a hard 502.

import { assert } from "../lib/assert.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";
import { copyOfRange, readU16, readU32 } from "../lib/bytes.ts";
import { decodeText, decodeTextStrict } from "../lib/text.ts";
import { syntaxError } from "./errors.ts";
import type { FieldArray, FieldTable, FieldValue, WholeNumber } from "./field_value.ts";
import { VOID, wholeNumber } from "./field_value.ts";

/** Bounds on the cost of decoding a field table. */
export interface FieldTableLimits {
  /** How deep arrays and tables may nest. The outermost table is level 1. */
  readonly depthMax: number;
  /** The most bytes of the outermost table or array. */
  readonly bytesMax: number;
}

/** Limits for callers that give none: deep and large enough for any real client. */
export const FIELD_TABLE_LIMITS: FieldTableLimits = { depthMax: 32, bytesMax: 1024 * 1024 };

const NUMBERS = new DataView(new ArrayBuffer(8));

function setScratch(bytes: Uint8Array, at: number, byteCount: number): DataView {
  for (let i = 0; i < byteCount; i++) NUMBERS.setUint8(i, bytes[at + i]!);
  return NUMBERS;
}

/** Decodes one table or array. Every call makes a new reader, so that nothing is shared. */
class FieldReader {
  readonly #bytes: Uint8Array;
  readonly #depthMax: number;
  #at: number;
  #depth = 0;

  constructor(bytes: Uint8Array, start: number, limits: FieldTableLimits) {
    this.#bytes = bytes;
    this.#at = start;
    this.#depthMax = limits.depthMax;
  }

  get at(): number {
    return this.#at;
  }

  #claim(byteCount: number, end: number): number {
    const at = this.#at;
    if (byteCount > end - at) throw syntaxError("field table is truncated");
    this.#at = at + byteCount;
    return at;
  }

  #enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#depthMax) {
      throw syntaxError(`field table is nested deeper than ${this.#depthMax} levels`);
    }
  }

  table(end: number): FieldTable {
    this.#enter();
    const table = new Map<string, FieldValue>();
    while (this.#at < end) {
      const key = this.#key(end);
      const value = this.value(end);
      if (!table.has(key)) table.set(key, value);
    }
    this.#depth -= 1;
    return table;
  }

  #key(end: number): string {
    const byteCount = this.#bytes[this.#claim(1, end)]!;
    const at = this.#claim(byteCount, end);
    return decodeText(this.#bytes, at, at + byteCount);
  }

  #array(end: number): FieldArray {
    this.#enter();
    const values: FieldValue[] = [];
    while (this.#at < end) values.push(this.value(end));
    this.#depth -= 1;
    return values;
  }

  // Reads the length of a length-prefixed value and returns where the value ends.
  #blockEnd(end: number): number {
    const byteCount = readU32(this.#bytes, this.#claim(4, end));
    if (byteCount > end - this.#at) throw syntaxError("field table is truncated");
    return this.#at + byteCount;
  }

  #block(end: number): Uint8Array {
    const blockEnd = this.#blockEnd(end);
    const block = copyOfRange(this.#bytes, this.#at, blockEnd);
    this.#at = blockEnd;
    return block;
  }

  #longString(end: number): string | Uint8Array {
    const blockEnd = this.#blockEnd(end);
    const start = this.#at;
    this.#at = blockEnd;
    return decodeTextStrict(this.#bytes, start, blockEnd) ??
      copyOfRange(this.#bytes, start, blockEnd);
  }

  #number(byteCount: number, end: number): DataView {
    return setScratch(this.#bytes, this.#claim(byteCount, end), byteCount);
  }

  value(end: number): FieldValue {
    const tag = this.#bytes[this.#claim(1, end)]!;
    switch (tag) {
      case 0x74: // t
        return { tag: "t", value: this.#bytes[this.#claim(1, end)]! !== 0 };
      case 0x66: // f
        return { tag: "f", value: this.#number(4, end).getFloat32(0) };
      case 0x64: // d
        return { tag: "d", value: this.#number(8, end).getFloat64(0) };
      case 0x44: { // D
        const at = this.#claim(5, end);
        return { tag: "D", scale: this.#bytes[at]!, value: readU32(this.#bytes, at + 1) };
      }
      case 0x54: // T
        return { tag: "T", value: wholeNumber(this.#number(8, end).getBigUint64(0)) };
      case 0x53: // S
        return { tag: "S", value: this.#longString(end) };
      case 0x78: // x
        return { tag: "x", value: this.#block(end) };
      case 0x41: // A
        return { tag: "A", value: this.#array(this.#blockEnd(end)) };
      case 0x46: // F
        return { tag: "F", value: this.table(this.#blockEnd(end)) };
      case 0x56: // V
        return VOID;
      default:
        return this.#integer(tag, end);
    }
  }

  #integer(tag: number, end: number): FieldValue {
    switch (tag) {
      case 0x62: // b
        return { tag: "b", value: (this.#bytes[this.#claim(1, end)]! << 24) >> 24 };
      case 0x42: // B
        return { tag: "B", value: this.#bytes[this.#claim(1, end)]! };
      case 0x73: // s
        return { tag: "s", value: (readU16(this.#bytes, this.#claim(2, end)) << 16) >> 16 };
      case 0x75: // u
        return { tag: "u", value: readU16(this.#bytes, this.#claim(2, end)) };
      case 0x49: // I
        return { tag: "I", value: readU32(this.#bytes, this.#claim(4, end)) | 0 };
      case 0x69: // i
        return { tag: "i", value: readU32(this.#bytes, this.#claim(4, end)) };
      case 0x6c: // l
        return { tag: "l", value: wholeNumber(this.#number(8, end).getBigInt64(0)) };
      case 0x4c: // L
        return { tag: "L", value: wholeNumber(this.#number(8, end).getBigInt64(0)) };
      default:
        throw syntaxError(`unknown field type 0x${tag.toString(16).padStart(2, "0")}`);
    }
  }
}

/** Decodes the entries of a table from `bytes[start, end)`, which is without the length prefix. */
export function decodeFieldTable(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits: FieldTableLimits = FIELD_TABLE_LIMITS,
): FieldTable {
  if (end - start > limits.bytesMax) {
    throw syntaxError(`field table is larger than ${limits.bytesMax} bytes`);
  }
  return new FieldReader(bytes, start, limits).table(end);
}

/** Decodes one value, type tag included, that must fill `bytes[start, end)` exactly. */
export function decodeFieldValue(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits: FieldTableLimits = FIELD_TABLE_LIMITS,
): FieldValue {
  if (end - start > limits.bytesMax) {
    throw syntaxError(`field value is larger than ${limits.bytesMax} bytes`);
  }
  const reader = new FieldReader(bytes, start, limits);
  const value = reader.value(end);
  if (reader.at !== end) throw syntaxError("bytes after a field value");
  return value;
}

/** Appends a table with its length prefix. */
export function writeFieldTable(out: ByteWriter, table: FieldTable): void {
  const at = out.reserve(4);
  for (const [key, value] of table) {
    out.shortString(key);
    writeFieldValue(out, value);
  }
  out.patchU32(at, out.byteCount - at - 4);
}

function writeFieldArray(out: ByteWriter, values: FieldArray): void {
  const at = out.reserve(4);
  for (const value of values) writeFieldValue(out, value);
  out.patchU32(at, out.byteCount - at - 4);
}

function writeWholeNumber(out: ByteWriter, value: WholeNumber): void {
  if (typeof value === "bigint") out.u64FromBigInt(value);
  else out.u64(value);
}

function writeInteger(out: ByteWriter, tag: string, value: WholeNumber): void {
  if (tag === "l" || tag === "L") {
    writeWholeNumber(out, value);
    return;
  }
  assert(typeof value === "number", "a 64-bit value in a narrower field");
  if (tag === "b" || tag === "B") out.u8(value);
  else if (tag === "s" || tag === "u") out.u16(value);
  else out.u32(value);
}

/** Appends one value, type tag included. */
export function writeFieldValue(out: ByteWriter, field: FieldValue): void {
  out.u8(field.tag.charCodeAt(0));
  switch (field.tag) {
    case "V":
      return;
    case "t":
      return out.u8(field.value ? 1 : 0);
    case "f":
      return out.f32(field.value);
    case "d":
      return out.f64(field.value);
    case "D":
      out.u8(field.scale);
      return out.u32(field.value);
    case "T":
      return writeWholeNumber(out, field.value);
    case "S":
    case "x":
      return out.longString(field.value);
    case "A":
      return writeFieldArray(out, field.value);
    case "F":
      if (field.bytes !== undefined) return out.longString(field.bytes);
      return writeFieldTable(out, field.value);
    default:
      return writeInteger(out, field.tag, field.value);
  }
}
