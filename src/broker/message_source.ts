// Makes the reusable struct through which messages enter the store. Sessions and dead-lettering own
// one each and point it at bytes they hold for the duration of one call.

import { EMPTY_BYTES } from "../lib/bytes.ts";
import type { MessageSource } from "../store/port.ts";

/** An empty message source. */
export function messageSource(): MessageSource {
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
