// Reads connection.start-ok before anybody has logged in. The client's properties are checked as
// bytes and stay bytes, because decoding a few thousand of them costs a hundred times their size.
// The handshake decodes them once it knows the client. Every other method has its decoder in
// methods_gen.ts.

import { rangeEquals } from "../lib/bytes.ts";
import { ArgumentReader } from "./argument_reader.ts";
import { CONNECTION_START_OK } from "./methods_gen.ts";
import { findEntry, skipFieldValue, tableKey, TAG_TABLE } from "./raw_table.ts";

/**
 * The first method of a client. The properties point into the frame, and are valid as long as the
 * frame is.
 */
export interface StartOk {
  readonly bytes: Uint8Array;
  /** Where the entries of the client's properties begin. */
  readonly propertiesStart: number;
  /** Where the entries of the client's properties end. */
  readonly propertiesEnd: number;
  readonly mechanism: string;
  readonly response: Uint8Array;
}

/** Reads the arguments of start-ok from `bytes[start, end)`. */
export function readStartOk(bytes: Uint8Array, start: number, end: number): StartOk {
  const reader = new ArgumentReader(bytes, start, end, CONNECTION_START_OK);
  const propertiesEnd = reader.checkedTable();
  const propertiesStart = start + 4;
  const mechanism = reader.shortstr();
  const response = reader.longstr();
  reader.shortstr();
  reader.finish();
  return { bytes, propertiesStart, propertiesEnd, mechanism, response };
}

const CAPABILITIES = tableKey("capabilities");
const TRUE = Uint8Array.of(0x74, 1);

/** Whether the client says that it has a capability. `key` comes from {@linkcode tableKey}. */
export function hasCapability(startOk: StartOk, key: Uint8Array): boolean {
  const { bytes, propertiesStart, propertiesEnd } = startOk;
  const at = findEntry(bytes, propertiesStart, propertiesEnd, CAPABILITIES);
  if (at < 0) return false;
  const tableAt = at + CAPABILITIES.length;
  if (bytes[tableAt] !== TAG_TABLE) return false;
  const tableEnd = skipFieldValue(bytes, tableAt, propertiesEnd);
  const entryAt = findEntry(bytes, tableAt + 5, tableEnd, key);
  if (entryAt < 0) return false;
  const valueAt = entryAt + key.length;
  return rangeEquals(bytes, valueAt, skipFieldValue(bytes, valueAt, tableEnd), TRUE);
}
