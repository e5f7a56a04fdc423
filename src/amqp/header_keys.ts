// The headers of a message that mean something to the broker, as keys of a table in its wire form.
// Publishing, delivery and dead-lettering look for them in raw properties.

import { tableKey } from "./raw_table.ts";

/** Further routing keys of a message. */
export const CC_KEY: Uint8Array = tableKey("CC");
/** Further routing keys that no receiver sees. */
export const BCC_KEY: Uint8Array = tableKey("BCC");
/** The header that counts deliveries. */
export const DELIVERY_COUNT_HEADER = "x-delivery-count";
/** {@linkcode DELIVERY_COUNT_HEADER} as a key. */
export const DELIVERY_COUNT_KEY: Uint8Array = tableKey(DELIVERY_COUNT_HEADER);
