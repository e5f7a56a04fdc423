// The fourteen properties of a basic message, decoded into an object and back. For code that needs
// all of them: management, dead-lettering, clients in tests. A publish keeps them raw and looks at
// single fields through RawProperties (raw_properties.ts).
//
//   flags u16, bit 15 first; then the values of the flags that are set, in this order:
//   content-type S  content-encoding S  headers F  delivery-mode u8  priority u8  correlation-id S
//   reply-to S  expiration S  message-id S  timestamp u64  type S  user-id S  app-id S  cluster-id S
//   (S: short string, F: table with length; bits 1 and 0 must be clear)

import { assert } from "../lib/assert.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";
import { readU16, readU32 } from "../lib/bytes.ts";
import { decodeText } from "../lib/text.ts";
import { syntaxError } from "./errors.ts";
import type { FieldTableLimits } from "./field_table.ts";
import { decodeFieldTable, FIELD_TABLE_LIMITS, writeFieldTable } from "./field_table.ts";
import type { FieldTable, WholeNumber } from "./field_value.ts";
import { wholeNumber } from "./field_value.ts";

/** Flag of content-type. */
export const PROPERTY_CONTENT_TYPE = 0x8000;
/** Flag of content-encoding. */
const PROPERTY_CONTENT_ENCODING = 0x4000;
/** Flag of headers. */
export const PROPERTY_HEADERS = 0x2000;
/** Flag of delivery-mode. */
export const PROPERTY_DELIVERY_MODE = 0x1000;
/** Flag of priority. */
export const PROPERTY_PRIORITY = 0x0800;
/** Flag of correlation-id. */
const PROPERTY_CORRELATION_ID = 0x0400;
/** Flag of reply-to. */
export const PROPERTY_REPLY_TO = 0x0200;
/** Flag of expiration. */
export const PROPERTY_EXPIRATION = 0x0100;
/** Flag of message-id. */
const PROPERTY_MESSAGE_ID = 0x0080;
/** Flag of timestamp. */
export const PROPERTY_TIMESTAMP = 0x0040;
/** Flag of type. */
const PROPERTY_TYPE = 0x0020;
/** Flag of user-id. */
export const PROPERTY_USER_ID = 0x0010;
/** Flag of app-id. */
const PROPERTY_APP_ID = 0x0008;
/** Flag of cluster-id. */
export const PROPERTY_CLUSTER_ID = 0x0004;

/** delivery-mode of a persistent message. */
export const DELIVERY_MODE_PERSISTENT = 2;

/** The properties of a message. Absent properties have no member. */
export interface Properties {
  /** MIME type of the body. */
  contentType?: string;
  /** MIME encoding of the body. */
  contentEncoding?: string;
  /** The headers table. */
  headers?: FieldTable;
  /** 1 transient, 2 persistent. */
  deliveryMode?: number;
  /** 0 to 255. */
  priority?: number;
  /** Application's correlation id. */
  correlationId?: string;
  /** The queue for answers. */
  replyTo?: string;
  /** Time to live in milliseconds, as digits. */
  expiration?: string;
  /** Application's message id. */
  messageId?: string;
  /** Seconds since 1970. */
  timestamp?: WholeNumber;
  /** Application's message type. */
  type?: string;
  /** Login of the publisher, checked by the broker. */
  userId?: string;
  /** Application's id. */
  appId?: string;
  /** Deprecated by 0-9-1, carried nevertheless. */
  clusterId?: string;
}

type TextName =
  | "contentType"
  | "contentEncoding"
  | "correlationId"
  | "replyTo"
  | "expiration"
  | "messageId"
  | "type"
  | "userId"
  | "appId"
  | "clusterId";

type PropertyField =
  | readonly [flag: number, kind: "text", name: TextName]
  | readonly [flag: number, kind: "octet", name: "deliveryMode" | "priority"]
  | readonly [flag: number, kind: "table", name: "headers"]
  | readonly [flag: number, kind: "timestamp", name: "timestamp"];

const FIELDS: readonly PropertyField[] = [
  [PROPERTY_CONTENT_TYPE, "text", "contentType"],
  [PROPERTY_CONTENT_ENCODING, "text", "contentEncoding"],
  [PROPERTY_HEADERS, "table", "headers"],
  [PROPERTY_DELIVERY_MODE, "octet", "deliveryMode"],
  [PROPERTY_PRIORITY, "octet", "priority"],
  [PROPERTY_CORRELATION_ID, "text", "correlationId"],
  [PROPERTY_REPLY_TO, "text", "replyTo"],
  [PROPERTY_EXPIRATION, "text", "expiration"],
  [PROPERTY_MESSAGE_ID, "text", "messageId"],
  [PROPERTY_TIMESTAMP, "timestamp", "timestamp"],
  [PROPERTY_TYPE, "text", "type"],
  [PROPERTY_USER_ID, "text", "userId"],
  [PROPERTY_APP_ID, "text", "appId"],
  [PROPERTY_CLUSTER_ID, "text", "clusterId"],
];

/** Bits of the flag word that name no property. */
const PROPERTY_FLAGS_UNUSED = 0x0003;

function truncated(): never {
  throw syntaxError("content properties are truncated");
}

/**
 * Reads the flag word of raw properties. A set unused bit is a 502, because the values after it
 * cannot be told apart. (Bit 0 would announce a second word, which the basic class does not have.)
 */
export function readPropertyFlags(bytes: Uint8Array, start: number, end: number): number {
  if (start + 2 > end) truncated();
  const flags = readU16(bytes, start);
  if ((flags & PROPERTY_FLAGS_UNUSED) !== 0) throw syntaxError("unknown content property flags");
  return flags;
}

/** Returns where the value of property `flag` ends that begins at `at`. */
export function skipProperty(bytes: Uint8Array, at: number, end: number, flag: number): number {
  let byteCount = 1;
  if (flag === PROPERTY_HEADERS) {
    if (at + 4 > end) truncated();
    byteCount = 4 + readU32(bytes, at);
  } else if (flag === PROPERTY_TIMESTAMP) {
    byteCount = 8;
  } else if (flag !== PROPERTY_DELIVERY_MODE && flag !== PROPERTY_PRIORITY) {
    if (at >= end) truncated();
    byteCount = 1 + bytes[at]!;
  }
  const next = at + byteCount;
  if (next > end) truncated();
  return next;
}

function readTimestamp(bytes: Uint8Array, at: number): WholeNumber {
  const high = BigInt(readU32(bytes, at));
  return wholeNumber((high << 32n) | BigInt(readU32(bytes, at + 4)));
}

/** Decodes the raw properties in `bytes[start, end)`. Text that is not UTF-8 is read leniently. */
export function decodeProperties(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits: FieldTableLimits = FIELD_TABLE_LIMITS,
): Properties {
  const flags = readPropertyFlags(bytes, start, end);
  const properties: Properties = {};
  let at = start + 2;
  for (const [flag, kind, name] of FIELDS) {
    if ((flags & flag) === 0) continue;
    const next = skipProperty(bytes, at, end, flag);
    if (kind === "text") properties[name] = decodeText(bytes, at + 1, next);
    else if (kind === "octet") properties[name] = bytes[at]!;
    else if (kind === "table") properties[name] = decodeFieldTable(bytes, at + 4, next, limits);
    else properties[name] = readTimestamp(bytes, at);
    at = next;
  }
  if (at !== end) throw syntaxError("content properties have surplus bytes");
  return properties;
}

function writeProperty(out: ByteWriter, field: PropertyField, properties: Properties): boolean {
  const [, kind, name] = field;
  const value = properties[name];
  if (value === undefined) return false;
  if (kind === "text") out.shortString(properties[name]!);
  else if (kind === "octet") out.u8(properties[name]!);
  else if (kind === "table") writeFieldTable(out, properties[name]!);
  else if (typeof properties[name] === "bigint") out.u64FromBigInt(properties[name]);
  else out.u64(properties[name]!);
  return true;
}

/** Appends properties in their wire form: flags, then values. */
export function writeProperties(out: ByteWriter, properties: Properties): void {
  const at = out.reserve(2);
  let flags = 0;
  for (const field of FIELDS) {
    if (writeProperty(out, field, properties)) flags |= field[0];
  }
  assert((flags & PROPERTY_FLAGS_UNUSED) === 0, "a flag without a property");
  out.patchU16(at, flags);
}
