// Makes new raw properties out of old ones: sets and removes headers, drops properties, and copies
// everything else byte for byte (so text that is not UTF-8, duplicate keys and odd floats survive).
// Used on delivery for x-delivery-count, on publish for BCC, and by dead-lettering.

import type { ByteWriter } from "../lib/byte_writer.ts";
import { rangeEquals } from "../lib/bytes.ts";
import { writeFieldValue } from "./field_table.ts";
import type { FieldTable } from "./field_value.ts";
import { EMPTY_TABLE } from "./field_value.ts";
import { PROPERTY_CLUSTER_ID, PROPERTY_CONTENT_TYPE, PROPERTY_HEADERS } from "./properties.ts";
import { skipProperty } from "./properties.ts";
import type { RawProperties } from "./raw_properties.ts";
import { findEntry, skipFieldKey, skipFieldValue, tableKey, TAG_LONG } from "./raw_table.ts";

/** The changes of {@linkcode rewriteProperties}. */
export interface PropertyChanges {
  /** Headers to set. An existing header is replaced and moves to the end of the table. */
  readonly setHeaders?: FieldTable;
  /** Headers to remove, as keys made with `tableKey`. */
  readonly removeHeaders?: readonly Uint8Array[];
  /** Properties to drop: their flags, or-ed. */
  readonly dropFlags?: number;
}

// Appends all entries, except that of `key`, of the table that `properties` found last.
function copyEntriesExcept(
  out: ByteWriter,
  properties: RawProperties,
  key: Uint8Array,
): void {
  const { bytes, valueEnd } = properties;
  let at = properties.valueStart;
  for (;;) {
    const entry = findEntry(bytes, at, valueEnd, key);
    if (entry < 0) break;
    out.range(bytes, at, entry);
    at = skipFieldValue(bytes, entry + key.length, valueEnd);
  }
  out.range(bytes, at, valueEnd);
}

/**
 * Appends `properties` with header `key` set to a 64-bit integer. Allocates nothing. `key` is made
 * with `tableKey`; `value` is a safe integer.
 */
export function writePropertiesWithLong(
  out: ByteWriter,
  properties: RawProperties,
  key: Uint8Array,
  value: number,
): void {
  const { bytes, start, end, flags } = properties;
  const at = properties.offsetOf(PROPERTY_HEADERS);
  let rest = at;
  out.u16(flags | PROPERTY_HEADERS);
  out.range(bytes, start + 2, at);
  const tableAt = out.reserve(4);
  if (properties.find(PROPERTY_HEADERS)) {
    rest = properties.valueEnd;
    copyEntriesExcept(out, properties, key);
  }
  out.all(key);
  out.u8(TAG_LONG);
  out.u64(value);
  out.patchU32(tableAt, out.byteCount - tableAt - 4);
  out.range(bytes, rest, end);
}

/** Appends `properties` without header `key`. A table left empty stays. It allocates nothing. */
export function writePropertiesWithout(
  out: ByteWriter,
  properties: RawProperties,
  key: Uint8Array,
): void {
  const { bytes, start, end } = properties;
  if (!properties.find(PROPERTY_HEADERS)) {
    out.range(bytes, start, end);
    return;
  }
  out.range(bytes, start, properties.valueStart - 4);
  const tableAt = out.reserve(4);
  copyEntriesExcept(out, properties, key);
  out.patchU32(tableAt, out.byteCount - tableAt - 4);
  out.range(bytes, properties.valueEnd, end);
}

function isListed(
  bytes: Uint8Array,
  at: number,
  end: number,
  keys: readonly Uint8Array[],
): boolean {
  return keys.some((key) => rangeEquals(bytes, at, end, key));
}

function writeHeaders(out: ByteWriter, properties: RawProperties, changes: PropertyChanges): void {
  const set = changes.setHeaders ?? EMPTY_TABLE;
  const unwanted = [...(changes.removeHeaders ?? []), ...[...set.keys()].map(tableKey)];
  const tableAt = out.reserve(4);
  if (properties.find(PROPERTY_HEADERS)) {
    const { bytes, valueEnd } = properties;
    let at = properties.valueStart;
    while (at < valueEnd) {
      const valueAt = skipFieldKey(bytes, at, valueEnd);
      const next = skipFieldValue(bytes, valueAt, valueEnd);
      if (!isListed(bytes, at, valueAt, unwanted)) out.range(bytes, at, next);
      at = next;
    }
  }
  for (const [key, value] of set) {
    out.shortString(key);
    writeFieldValue(out, value);
  }
  out.patchU32(tableAt, out.byteCount - tableAt - 4);
}

/** Appends `properties` with `changes` applied. A headers table left empty stays. */
export function rewriteProperties(
  out: ByteWriter,
  properties: RawProperties,
  changes: PropertyChanges,
): void {
  const { bytes, end } = properties;
  const setsHeaders = (changes.setHeaders ?? EMPTY_TABLE).size > 0;
  const kept = properties.flags & ~(changes.dropFlags ?? 0);
  const flags = setsHeaders ? kept | PROPERTY_HEADERS : kept;
  let at = properties.start + 2;
  out.u16(flags);
  for (let flag = PROPERTY_CONTENT_TYPE; flag >= PROPERTY_CLUSTER_ID; flag >>= 1) {
    const next = properties.has(flag) ? skipProperty(bytes, at, end, flag) : at;
    if ((flags & flag) !== 0) {
      if (flag === PROPERTY_HEADERS) writeHeaders(out, properties, changes);
      else out.range(bytes, at, next);
    }
    at = next;
  }
}
