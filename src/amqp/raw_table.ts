// Walks field tables in their wire form without decoding them: skips a value, checks a table, finds
// one key. Used once per message for headers (CC, x-delay, x-delivery-count), and when properties
// are rewritten. It allocates nothing. Lengths that do not add up are a hard 502.

import { copyBytes, rangeEquals, readU32 } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";
import { syntaxError } from "./errors.ts";
import { FIELD_TABLE_LIMITS } from "./field_table.ts";

/** Type tag of an array. */
const TAG_ARRAY = 0x41;
/** Type tag of a table. */
export const TAG_TABLE = 0x46;
/** Type tag of a signed 64-bit integer. */
export const TAG_LONG = 0x6c;

// Bytes of a value by its tag: 0 for an unknown tag, LENGTH_PREFIXED for a value with a length of
// its own.
const LENGTH_PREFIXED = 255;
const VALUE_BYTES = valueBytes();

function valueBytes(): Uint8Array {
  const bytes = new Uint8Array(256);
  const sizes: Readonly<Record<number, string>> = {
    1: "tbB",
    2: "su",
    4: "Iif",
    5: "D",
    8: "lLdT",
  };
  for (const [size, tags] of Object.entries(sizes)) {
    for (const tag of tags) bytes[tag.charCodeAt(0)] = Number(size);
  }
  for (const tag of "SxAF") bytes[tag.charCodeAt(0)] = LENGTH_PREFIXED;
  return bytes;
}

const TAG_VOID = 0x56;

function truncated(): never {
  throw syntaxError("field table is truncated");
}

/**
 * Returns where the value ends whose type tag is at `at`. Only its outermost level is looked at.
 */
export function skipFieldValue(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) truncated();
  const tag = bytes[at]!;
  const size = VALUE_BYTES[tag]!;
  let next = at + 1 + size;
  if (size === LENGTH_PREFIXED) {
    if (at + 5 > end) truncated();
    next = at + 5 + readU32(bytes, at + 1);
  } else if (size === 0 && tag !== TAG_VOID) {
    throw syntaxError(`unknown field type 0x${tag.toString(16).padStart(2, "0")}`);
  }
  if (next > end) truncated();
  return next;
}

/** Returns where the key ends whose length octet is at `at`. The tag of its value stands there. */
export function skipFieldKey(bytes: Uint8Array, at: number, end: number): number {
  const next = at + 1 + bytes[at]!;
  if (next > end) truncated();
  return next;
}

function checkNested(bytes: Uint8Array, at: number, end: number, depth: number): void {
  const tag = bytes[at]!;
  if (tag === TAG_TABLE) checkTable(bytes, at + 5, end, depth - 1);
  else if (tag === TAG_ARRAY) checkArray(bytes, at + 5, end, depth - 1);
}

function checkArray(bytes: Uint8Array, start: number, end: number, depth: number): void {
  if (depth <= 0) throw syntaxError("field table is nested too deep");
  let at = start;
  while (at < end) {
    const next = skipFieldValue(bytes, at, end);
    checkNested(bytes, at, next, depth);
    at = next;
  }
}

/**
 * Checks every level of the table in `bytes[start, end)`, which is without the length prefix, as
 * decoding would. `depth` is the number of allowed levels.
 */
export function checkTable(
  bytes: Uint8Array,
  start: number,
  end: number,
  depth: number = FIELD_TABLE_LIMITS.depthMax,
): void {
  if (depth <= 0) throw syntaxError("field table is nested too deep");
  let at = start;
  while (at < end) {
    const valueAt = skipFieldKey(bytes, at, end);
    const next = skipFieldValue(bytes, valueAt, end);
    checkNested(bytes, valueAt, next, depth);
    at = next;
  }
}

/**
 * Returns a key as it stands in a table: its length octet, then its UTF-8. Make it once, not per
 * message.
 */
export function tableKey(name: string): Uint8Array {
  const text = encodeText(name);
  const key = new Uint8Array(text.length + 1);
  key[0] = text.length;
  copyBytes(key, 1, text, 0, text.length);
  return key;
}

/**
 * Finds a key made by {@linkcode tableKey} in the table `bytes[start, end)`, and returns where the
 * entry begins, or −1. The tag of its value stands `key.length` bytes after that. If a key was sent
 * twice, the first counts. Keys inside nested tables are not looked at.
 */
export function findEntry(
  bytes: Uint8Array,
  start: number,
  end: number,
  key: Uint8Array,
): number {
  let at = start;
  while (at < end) {
    const valueAt = skipFieldKey(bytes, at, end);
    if (rangeEquals(bytes, at, valueAt, key)) return at;
    at = skipFieldValue(bytes, valueAt, end);
  }
  return -1;
}
