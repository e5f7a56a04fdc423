// Limits on the size of content headers. A content header is one frame, so a client can get a message
// only if the whole header fits the frame size that the client has agreed to. Publishes and dead
// letters are limited to what clients with the node's own frame size take. Dispatch checks the limit of
// each client.

import { CONTENT_HEADER_FIXED_BYTES } from "../../amqp/content_header.ts";
import { FRAME_OVERHEAD } from "../../amqp/frame.ts";
import { BCC_KEY, DELIVERY_COUNT_KEY } from "../../amqp/header_keys.ts";
import { PROPERTY_HEADERS } from "../../amqp/properties.ts";
import { RawProperties } from "../../amqp/raw_properties.ts";
import { findEntry, skipFieldValue } from "../../amqp/raw_table.ts";
import {
  ENTRY_COUNT_MASK,
  RECORD_BCC,
  RECORD_FORGED_COUNT,
  type RecordView,
} from "../../store/port.ts";
import type { Limits } from "../limits.ts";
import type { Queue } from "./queue.ts";

/** Room for fields that the broker may add to the headers: a delivery count and a history of deaths. */
const RESERVE_BYTES = 4096;
// With small frames the reserve is at most 1 / RESERVE_SHARE of the frame.
const RESERVE_SHARE = 4;

/** Bytes of the largest content header payload that a client with the node's frame size can get. */
export function deadLetterHeaderBytesMax({ frameBytesMax }: Limits): number {
  return frameBytesMax - FRAME_OVERHEAD;
}

/** The same for a message that is being published: it leaves room for fields that the broker adds. */
export function publishHeaderBytesMax(limits: Limits): number {
  const most = deadLetterHeaderBytesMax(limits);
  return most - Math.min(RESERVE_BYTES, Math.floor(most / RESERVE_SHARE));
}

// Key, type tag and value of `x-delivery-count`; TABLE_BYTES is the length of a table that was not
// there.
const COUNT_BYTES = DELIVERY_COUNT_KEY.length + 9;
const TABLE_BYTES = 4;
const PROPERTIES = new RawProperties();

/** Upper bound of the bytes by which a delivery's header payload exceeds the published properties. */
export const DELIVERED_BYTES_MAX: number = CONTENT_HEADER_FIXED_BYTES + COUNT_BYTES + TABLE_BYTES;

/**
 * Returns the bytes of the content header payload with which the message in `view` would be delivered.
 */
export function deliveredHeaderBytes(queue: Queue, view: RecordView, entry: number): number {
  const { bytes, propertiesStart, propertiesEnd, flags } = view;
  const properties = PROPERTIES;
  properties.set(bytes, propertiesStart, propertiesEnd);
  const isCounted = queue.keepsCount && (entry & ENTRY_COUNT_MASK) > 0;
  let headerBytes = CONTENT_HEADER_FIXED_BYTES + propertiesEnd - propertiesStart;
  if (isCounted) headerBytes += COUNT_BYTES + (properties.has(PROPERTY_HEADERS) ? 0 : TABLE_BYTES);
  if ((flags & RECORD_BCC) !== 0) headerBytes -= entryBytes(properties, BCC_KEY);
  if (queue.keepsCount && (flags & RECORD_FORGED_COUNT) !== 0) {
    headerBytes -= entryBytes(properties, DELIVERY_COUNT_KEY);
  }
  return headerBytes;
}

// Returns the bytes of all header entries with this key.
function entryBytes(properties: RawProperties, key: Uint8Array): number {
  if (!properties.find(PROPERTY_HEADERS)) return 0;
  const { bytes, valueStart, valueEnd } = properties;
  let entriesBytes = 0;
  for (let at = valueStart; at < valueEnd;) {
    const entry = findEntry(bytes, at, valueEnd, key);
    if (entry < 0) break;
    at = skipFieldValue(bytes, entry + key.length, valueEnd);
    entriesBytes += at - entry;
  }
  return entriesBytes;
}
