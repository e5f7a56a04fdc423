// Login responses of the SASL mechanisms PLAIN and AMQPLAIN. It only decodes them; the broker
// decides whether a login is good. A response without the expected form is a hard 502.

import { bytesEqual, copyOfRange } from "../lib/bytes.ts";
import { decodeTextStrict, encodeText } from "../lib/text.ts";
import { syntaxError } from "./errors.ts";
import { decodeFieldTable } from "./field_table.ts";
import type { FieldValue } from "./field_value.ts";

/** A client's login. The password stays bytes: it is hashed, never shown. */
export interface Credentials {
  /** The name of the user. */
  readonly user: string;
  /** The password as sent. */
  readonly password: Uint8Array;
}

function userText(bytes: Uint8Array): string {
  const user = decodeTextStrict(bytes, 0, bytes.length);
  if (user === undefined) throw syntaxError("user name is not UTF-8");
  return user;
}

/**
 * Decodes a PLAIN response: `authzid NUL user NUL password`. Acting for another user is not
 * supported, so authzid must be empty or the user itself.
 */
export function decodePlain(response: Uint8Array): Credentials {
  const first = response.indexOf(0);
  const second = first < 0 ? -1 : response.indexOf(0, first + 1);
  if (second < 0 || response.indexOf(0, second + 1) >= 0) {
    throw syntaxError("PLAIN response is malformed");
  }
  const authzid = response.subarray(0, first);
  const user = response.subarray(first + 1, second);
  if (authzid.length > 0 && !bytesEqual(authzid, user)) {
    throw syntaxError("PLAIN response names a different authorization identity");
  }
  return { user: userText(user), password: copyOfRange(response, second + 1, response.length) };
}

function longStringBytes(field: FieldValue | undefined): Uint8Array {
  if (field?.tag !== "S") {
    throw syntaxError("AMQPLAIN response is missing LOGIN or PASSWORD");
  }
  return typeof field.value === "string" ? encodeText(field.value) : field.value;
}

/**
 * Decodes an AMQPLAIN response: the entries of a table with LOGIN and PASSWORD, without a length
 * prefix.
 */
export function decodeAmqplain(response: Uint8Array): Credentials {
  const table = decodeFieldTable(response, 0, response.length);
  const user = userText(longStringBytes(table.get("LOGIN")));
  return { user, password: longStringBytes(table.get("PASSWORD")) };
}
