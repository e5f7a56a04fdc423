// A raw field table with some of its values replaced, everything else copied byte for byte. Used where a
// table is only partly ours, such as an entry of `x-death`. The counterpart of rewrite_properties.ts.

import { ByteWriter } from "../lib/byte_writer.ts";
import { decodeText } from "../lib/text.ts";
import { writeFieldValue } from "./field_table.ts";
import type { FieldTable } from "./field_value.ts";
import { skipFieldKey, skipFieldValue } from "./raw_table.ts";

/**
 * The entries of a table, its length prefix stripped, with the values of `set` in the places of those
 * that they replace; keys that the table does not have follow at its end.
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
