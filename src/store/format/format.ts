// The bytes of data files: the frame of a batch and its entries. The writer and the reader of
// batches, recovery and the offline check share it; docs/storage.md describes the same. All numbers
// are big-endian; varints are unsigned LEB128, seven bits a byte, low bits first.
//
// A log, snapshot or segment file is a row of batches, each starting on a multiple of 8; between
// the batches of a segment file there may be pages.
//
//   0        4              8          12         16                24
//   +--------+--------------+----------+----------+-----------------+-----------------+
//   | magic  | payloadBytes | checksum | file     | batch number 64 | broker time f64 |
//   +--------+--------------+----------+----------+-----------------+-----------------+
//   | batch before 64       | safe batch 64       | payload: entries, then zero bytes |
//   +-----------------------+---------------------+ up to a multiple of 8             |
//   | …                                                                               |
//   +---------------------------------------------------------------------------------+
//
// The checksum covers everything after it. A batch is all or nothing: if its checksum is wrong,
// none of its entries are true. A batch of the log names the batch written before it and the last
// batch that was safe at that time. So a reader sees a gap, and whether the gap is damage or the
// torn end of batches that were not yet safe. In snapshots and segments both numbers are 0. A batch
// of a log or a snapshot names its file by the lowest 32 bits of the file's number, so that a file
// under another name is noticed. Segments and folders of earlier versions have 0 there, which says
// nothing.

// A page holds messages of one queue, ready or delayed. Its index comes first, so that it can be
// read alone:
//
//   0        4              8          12           16         24     28         32
//   +--------+--------------+----------+------------+----------+------+----------+-----------------+
//   | magic  | payloadBytes | checksum | indexBytes | queue 64 | rows | checksum | index | records |
//   +--------+--------------+----------+------------+----------+------+----------+-----------------+
//
// The first checksum covers everything from byte 12 to the end of the index, the second one the
// rest. The index has a row per message, by rising position: varint position (from the second row
// on: minus the one before), varint entry, u8 flags, u8 priority, varint record bytes, varint
// address bytes, varint property bytes, varint body bytes, f64 arrival unless the flags have
// ROW_SAME_ARRIVAL, f64 expiry if they have RECORD_HAS_EXPIRY, f64 end if they have ROW_HAS_END,
// varint due and varint delay number if they have ROW_DELAYED. The records are ENTRY_RECORD entries
// in the order of the rows; zero bytes fill up to a multiple of 8. Rows without the persistent flag
// mean nothing after a restart of the node.

import type { DeathCause } from "../port.ts";

/** First bytes of a batch. */
export const BATCH_MAGIC = 0x52504231; // "RPB1"
/** Bytes before a batch's payload. */
export const BATCH_HEADER_BYTES = 48;
/** Offset of the checksum. It covers everything behind it. */
export const CHECKSUM_OFFSET = 8;
/** Offset of the first byte that the checksum covers. */
export const CHECKED_FROM = 12;
/** Offset of the number of the file. */
export const FILE_OFFSET = 12;
/**
 * Version of all files that are written to a data folder. A folder of a newer version is refused
 * untouched.
 */
export const FORMAT_VERSION = 3;
/**
 * The oldest version that is read. Version 2 has no {@linkcode ENTRY_DYING}, none of its states, no
 * definitions of deleted queues, no numbers of files and no optional entries.
 */
export const FORMAT_VERSION_MIN = 2;

/** Fills a batch up. It ends the entries. */
export const ENTRY_PADDING = 0;
/**
 * A message: record flags u8, priority u8, varint address bytes, varint property bytes, varint body
 * bytes, arrival f64, expiry f64 if the flags have {@link RECORD_HAS_EXPIRY}, checksum u32, then
 * the parts. The checksum covers the parts, and its seed is the checksum of everything before it,
 * so that one record can be checked without its batch.
 */
export const ENTRY_RECORD = 1;
/**
 * The message is ready at a position: varint queue, varint position, varint bytes back to its
 * record in this batch.
 */
export const ENTRY_ENQUEUED = 2;
/**
 * The state of a message whose record lies elsewhere: varint queue, varint position, varint file,
 * varint offset, varint record bytes, u8 state, varint entry, varint due and varint delay number
 * (delayed only), then the facts about the record: record flags u8, priority u8, varint body bytes,
 * arrival f64, expiry f64 (if it has one).
 */
export const ENTRY_PLACED = 3;
/** The message is out for delivery: varint queue, varint position, varint entry. */
export const ENTRY_DELIVERED = 4;
/** The message is ready again at its old position: varint queue, varint position, varint entry. */
export const ENTRY_REQUEUED = 5;
/**
 * The message is delayed: varint queue, varint position, varint due, varint entry, varint delay
 * number.
 */
export const ENTRY_DELAYED = 6;
/** The message is back from its delay: varint queue, varint position, varint new position. */
export const ENTRY_RETURNED = 7;
/** The message has left the queue: varint queue, varint position, u8 cause. */
export const ENTRY_REMOVED = 8;
/** Everything ready or delayed has left the queue: varint queue. */
export const ENTRY_PURGED = 9;
/** A definition: u8 kind, varint key bytes, varint value bytes, key, value as JSON. */
export const ENTRY_DEFINED = 10;
/** A definition is gone: u8 kind, varint key bytes, key. */
export const ENTRY_UNDEFINED = 11;
/** A record was copied: varint queue, varint position, varint file, varint offset. */
export const ENTRY_MOVED = 12;
/** Positions up to this one were used: varint queue, varint last position. */
export const ENTRY_LAST_POSITION = 13;
/** Queue ids up to this one were used: varint last id. */
export const ENTRY_LAST_QUEUE_ID = 14;
/** The end of a snapshot. A snapshot without it is not whole. */
export const ENTRY_END = 15;
/**
 * Messages are in a page now: varint queue, varint first position, varint last minus first, varint
 * messages, varint body bytes, varint file, varint offset, varint page bytes, varint bytes to the
 * end of its index, then u8 kind: 0 for ready messages; PAGE_EXPIRES, followed by f64 earliest
 * expiry; or PAGE_DELAYED, followed by f64 earliest wake, f64 last wake, varint highest delay
 * number. Then come the positions: varint runs, and for each run varint positions skipped, varint
 * positions in the page. A snapshot has no runs, because it has no other entries about these
 * positions. Transient messages do not count.
 */
export const ENTRY_PAGED = 16;
/** Kind of a page: ready messages, some of which expire. */
export const PAGE_EXPIRES = 1;
/** Kind of a page: delayed messages. */
export const PAGE_DELAYED = 2;
/**
 * The messages of a page stand on their own again, as its rows say: varint queue, varint first
 * position.
 */
export const ENTRY_UNPAGED = 17;
/** A page was copied: varint queue, varint first position, varint file, varint offset. */
export const ENTRY_PAGE_MOVED = 18;
/**
 * The message is on its way to the dead-letter exchange: varint queue, varint position, varint
 * entry, u8 cause. It is neither ready nor out any more. ENTRY_REMOVED follows when it has got
 * there.
 */
export const ENTRY_DYING = 19;

/**
 * Entries of this type and above may be unknown to a reader, who passes over them: varint bytes,
 * then so many bytes. An entry that must not be passed over has a lower type, and readers that do
 * not know it refuse the folder. None is written yet. Type 128 is kept for where a batch comes from
 * when several nodes share a log: varint generation, varint term, varint sequence; it is the first
 * entry of its batch.
 */
export const ENTRY_OPTIONAL = 128;

/** First bytes of a page. */
export const PAGE_MAGIC = 0x52505031; // "RPP1"
/** Offset of a page's checksum of its records. */
export const PAGE_RECORDS_CHECKSUM_OFFSET = 28;
/** Bytes before a page's index. */
export const PAGE_HEADER_BYTES = 32;

/** Record flag, on disk only: an expiry follows. */
export const RECORD_HAS_EXPIRY = 0x80;
/** Row flag: the message expires in this queue at a time of its own, earlier than its expiry. */
export const ROW_HAS_END = 0x40;
/** Row flag: the message arrived at the time of the row before. */
export const ROW_SAME_ARRIVAL = 0x20;

/** Row flag: the message is delayed; varint due and varint delay number end the row. */
export const ROW_DELAYED = 0x10;
/** All row flags that are not flags of the record. */
export const ROW_FLAGS = RECORD_HAS_EXPIRY | ROW_HAS_END | ROW_SAME_ARRIVAL | ROW_DELAYED;

/** State of a placed message: ready. */
export const STATE_READY = 0;
/** State of a placed message: out for delivery. */
export const STATE_OUT = 1;
/** State of a placed message: delayed. */
export const STATE_DELAYED = 2;
// The states above this one: on the way to the dead-letter exchange, one state for each cause.
const STATE_DYING = 2;

/** Causes of removal by their number on disk. */
export const CAUSES = [
  "acked",
  "rejected",
  "expired",
  "maxlen",
  "delivery_limit",
  "purged",
  "deleted",
] as const;

/**
 * Returns the state of a message that is on its way to the dead-letter exchange: 3 rejected … 6
 * delivery limit.
 */
export function dyingState(cause: DeathCause): number {
  return STATE_DYING + CAUSES.indexOf(cause);
}

/** Returns why a message in this state goes to the dead-letter exchange; null when it does not. */
export function deathCauseOf(state: number): DeathCause | null {
  const cause = CAUSES[state - STATE_DYING];
  return cause === "rejected" || cause === "expired" || cause === "maxlen" ||
      cause === "delivery_limit"
    ? cause
    : null;
}

/** Kinds of definitions by their number on disk. A kind may need those before it. */
export const KINDS = ["exchange", "queue", "binding", "deleted"] as const;

/** Name of the file that says which other files count. */
export const MANIFEST_NAME = "MANIFEST";

/** Returns the name of a data file: `log-00000007`, `snapshot-00000009`, `segment-00000008`. */
export function dataFileName(kind: DataFileKind, number: number): string {
  return `${kind}-${String(number).padStart(8, "0")}`;
}

/** The kind of a data file. */
export type DataFileKind = "log" | "snapshot" | "segment";

/** Returns kind and number of a data file by its name; null for any other name. */
export function parseDataFileName(name: string): { kind: DataFileKind; number: number } | null {
  const match = /^(log|snapshot|segment)-(\d{8,15})$/.exec(name);
  return match === null ? null : { kind: match[1] as DataFileKind, number: Number(match[2]) };
}
