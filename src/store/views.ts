// Makes the two reusable structs of the store port, empty: a message to append and a view of a
// record. Owners keep one each and point it at bytes for the duration of one call.

import { EMPTY_BYTES } from "../lib/bytes.ts";
import type { MessageSource, RecordView } from "./port.ts";

/** A view of nothing. */
export function emptyView(): RecordView {
  return {
    bytes: EMPTY_BYTES,
    addressStart: 0,
    addressEnd: 0,
    propertiesStart: 0,
    propertiesEnd: 0,
    bodyStart: 0,
    bodyEnd: 0,
    flags: 0,
    priority: 0,
    arrivalMs: 0,
    expiryMs: Infinity,
  };
}

/** A message without address, properties and body. */
export function emptySource(): MessageSource {
  return {
    address: EMPTY_BYTES,
    addressStart: 0,
    addressEnd: 0,
    properties: EMPTY_BYTES,
    propertiesStart: 0,
    propertiesEnd: 0,
    body: EMPTY_BYTES,
    bodyStart: 0,
    bodyEnd: 0,
    flags: 0,
    priority: 0,
    arrivalMs: 0,
    expiryMs: Infinity,
  };
}
