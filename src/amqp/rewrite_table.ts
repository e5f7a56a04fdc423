// Replaces some values of a raw field table and copies everything else byte for byte. Used for
// tables that the broker has written only in part, such as an entry of `x-death`. It is the
// counterpart of rewrite_properties.ts.

import { ByteWriter } from "../lib/byte_writer.ts";
import { decodeText } from "../lib/text.ts";
import { writeFieldValue } from "./field_table.ts";
import type { FieldTable } from "./field_value.ts";
import { skipFieldKey, skipFieldValue } from "./raw_table.ts";

/**
 * Returns the entries of a table, which comes without its length prefix. Values of `set` stand in
 * the places of those that they replace. New keys follow at the end.
 */
export function rewriteTable(table: Uint8Array, set: FieldTable): Uint8Array {
  const out = new ByteWriter();
  const missing = new Map(set);
  let at = 0;
  while (at < table.length) {
    const valueAt = skipFieldKey(table, at, table.length);
    const next = skipFieldValue(table, valueAt, table.length);
    const key = decodeText(table, at + 1, valueAt);
    const value = missing.get(key);
    if (value !== undefined) {
      out.range(table, at, valueAt);
      writeFieldValue(out, value);
      missing.delete(key);
    } else if (!set.has(key)) out.range(table, at, next);
    at = next;
  }
  for (const [key, value] of missing) {
    out.shortString(key);
    writeFieldValue(out, value);
  }
  return out.copy();
}
