// Builds one batch: entries are appended as they happen, `finish` frames them. The commit log owns
// one for the turn's batch; snapshots and segments use others. It knows bytes, not what entries
// mean.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { copyBytes, putF64, putU32 } from "../../lib/bytes.ts";
import { checksum } from "../checksum.ts";
import type { PagePlace } from "../page.ts";
import {
  type Death,
  type DefinitionKind,
  type Delay,
  ENTRY_COUNT_MASK,
  ENTRY_REDELIVERED,
  ENTRY_UNSPENT,
  type RecordView,
  type RemovalCause,
} from "../port.ts";
import { putVarint, VARINT_BYTES_MAX } from "../varint.ts";
import {
  BATCH_HEADER_BYTES,
  BATCH_MAGIC,
  CAUSES,
  CHECKED_FROM,
  CHECKSUM_OFFSET,
  ENTRY_DEFINED,
  ENTRY_DELAYED,
  ENTRY_DYING,
  ENTRY_ENQUEUED,
  ENTRY_LAST_POSITION,
  ENTRY_LAST_QUEUE_ID,
  ENTRY_MOVED,
  ENTRY_PAGE_MOVED,
  ENTRY_PAGED,
  ENTRY_PLACED,
  ENTRY_PURGED,
  ENTRY_RECORD,
  ENTRY_REMOVED,
  ENTRY_RETURNED,
  ENTRY_UNDEFINED,
  ENTRY_UNPAGED,
  FILE_OFFSET,
  KINDS,
  PAGE_DELAYED,
  PAGE_EXPIRES,
  RECORD_HAS_EXPIRY,
  STATE_DELAYED,
} from "./format.ts";
import type { MessageRow } from "./message_row.ts";

/** A message as a snapshot places it; see ENTRY_PLACED. */
export interface Placed extends MessageRow {
  queueId: number;
  position: number;
}

/** The part of a log batch's header about the batches before it and its file. */
export interface BatchChain {
  /** Number of the batch written before; 0 for none. */
  previous: number;
  /** Every batch up to this one was safe. */
  safe: number;
  /** Lowest 32 bits of the number of its file; 0 when not given. */
  file: number;
}

/** The file that {@link renameFile} writes. */
export interface FileName {
  /** Number of the file. */
  file: number;
  /** Seed of the checksums of its folder. */
  seed: number;
}

const NO_CHAIN: BatchChain = { previous: 0, safe: 0, file: 0 };

// The most bytes of type, flags, priority, three lengths, two times and a checksum.
const RECORD_HEAD_BYTES_MAX = 3 + 3 * VARINT_BYTES_MAX + 2 * 8 + 4;

// A little more room than a record needs: what the queues say of it and the end of the batch would
// else have a large one copied once more.
const BEHIND_RECORD_BYTES = 1024;

/** Collects the entries of a batch. */
export class BatchWriter {
  /** The bytes written so far, with the room for the header. */
  readonly out: ByteWriter = new ByteWriter();
  readonly #seed: number;
  /** Where texts are written whose length comes first. */
  readonly #texts = new ByteWriter();

  /** `seed` is the seed of every checksum in the folder. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Whether no entry has been added. */
  get isEmpty(): boolean {
    return this.out.byteCount <= BATCH_HEADER_BYTES;
  }

  /** Starts a batch that is written to `storage`. */
  open(storage: Uint8Array): void {
    this.out.bytes = storage;
    this.out.byteCount = 0;
    this.out.reserve(BATCH_HEADER_BYTES);
  }

  /** Frames the batch: `out.bytes[0, out.byteCount)` is what goes to the file. */
  finish(number: number, timeMs: number, chain: BatchChain = NO_CHAIN): void {
    const { out } = this;
    const paddingBytes = -out.byteCount & 7;
    for (let i = 0; i < paddingBytes; i++) out.u8(0);
    const byteCount = out.byteCount;
    out.byteCount = 0;
    out.u32(BATCH_MAGIC);
    out.u32(byteCount - BATCH_HEADER_BYTES);
    out.u32(0);
    out.u32(chain.file >>> 0);
    out.u64(number);
    out.f64(timeMs);
    out.u64(chain.previous);
    out.u64(chain.safe);
    out.byteCount = byteCount;
    putU32(out.bytes, CHECKSUM_OFFSET, checksum(out.bytes, CHECKED_FROM, byteCount, this.#seed));
  }

  /** Adds a message's bytes, and returns where its entry begins in the batch. */
  record(view: RecordView): number {
    const { out } = this;
    const { addressStart, bodyEnd } = view;
    const start = out.byteCount;
    const hasExpiry = view.expiryMs !== Infinity;
    out.ensure(RECORD_HEAD_BYTES_MAX + bodyEnd - addressStart + BEHIND_RECORD_BYTES);
    const { bytes } = out;
    bytes[start] = ENTRY_RECORD;
    bytes[start + 1] = hasExpiry ? view.flags | RECORD_HAS_EXPIRY : view.flags;
    bytes[start + 2] = view.priority;
    let at = putVarint(bytes, start + 3, view.addressEnd - addressStart);
    at = putVarint(bytes, at, view.propertiesEnd - view.propertiesStart);
    at = putVarint(bytes, at, bodyEnd - view.bodyStart);
    putF64(bytes, at, view.arrivalMs);
    at += 8;
    if (hasExpiry) {
      putF64(bytes, at, view.expiryMs);
      at += 8;
    }
    const headSum = checksum(bytes, start, at, this.#seed);
    putU32(bytes, at, checksum(view.bytes, addressStart, bodyEnd, headSum));
    // The three parts lie side by side in a view and in a record.
    copyBytes(bytes, at + 4, view.bytes, addressStart, bodyEnd);
    out.byteCount = at + 4 + bodyEnd - addressStart;
    return start;
  }

  /** `recordAt` is where the record's entry begins in this batch. */
  enqueued(queueId: number, position: number, recordAt: number): void {
    const at = this.out.byteCount;
    this.#begin(ENTRY_ENQUEUED, queueId, position);
    this.#varint(at - recordAt);
  }

  placed(placed: Placed): void {
    const { out } = this;
    this.#begin(ENTRY_PLACED, placed.queueId, placed.position);
    this.#varint(placed.file);
    this.#varint(placed.offset);
    this.#varint(placed.recordBytes);
    out.u8(placed.state);
    this.#varint(packEntry(placed.entry));
    if (placed.state === STATE_DELAYED) {
      this.#varint(placed.dueMs);
      this.#varint(placed.delayNumber);
    }
    const hasExpiry = placed.expiryMs !== Infinity;
    out.u8(hasExpiry ? placed.flags | RECORD_HAS_EXPIRY : placed.flags);
    out.u8(placed.priority);
    this.#varint(placed.bodyBytes);
    out.f64(placed.arrivalMs);
    if (hasExpiry) out.f64(placed.expiryMs);
  }

  /** `type` is ENTRY_DELIVERED or ENTRY_REQUEUED. */
  counted(type: number, queueId: number, position: number, entry: number): void {
    this.#begin(type, queueId, position);
    this.#varint(packEntry(entry));
  }

  delayed(queueId: number, position: number, delay: Delay): void {
    this.#begin(ENTRY_DELAYED, queueId, position);
    this.#varint(delay.dueMs);
    this.#varint(packEntry(delay.entry));
    this.#varint(delay.number);
  }

  dying(queueId: number, position: number, death: Death): void {
    this.#begin(ENTRY_DYING, queueId, position);
    this.#varint(packEntry(death.entry));
    this.out.u8(CAUSES.indexOf(death.reason));
  }

  returned(queueId: number, position: number, newPosition: number): void {
    this.#begin(ENTRY_RETURNED, queueId, position);
    this.#varint(newPosition);
  }

  removed(queueId: number, position: number, cause: RemovalCause): void {
    this.#begin(ENTRY_REMOVED, queueId, position);
    this.out.u8(CAUSES.indexOf(cause));
  }

  purged(queueId: number): void {
    this.out.u8(ENTRY_PURGED);
    this.#varint(queueId);
  }

  moved(queueId: number, position: number, file: number, offset: number): void {
    this.#begin(ENTRY_MOVED, queueId, position);
    this.#varint(file);
    this.#varint(offset);
  }

  /** `runs`: numbers of positions skipped and taken, in turn; see ENTRY_PAGED. */
  paged(queueId: number, place: PagePlace, runs: readonly number[]): void {
    this.#begin(ENTRY_PAGED, queueId, place.first);
    this.#varint(place.last - place.first);
    this.#varint(place.count);
    this.#varint(place.bodyBytes);
    this.#varint(place.file);
    this.#varint(place.offset);
    this.#varint(place.byteLength);
    this.#varint(place.indexEnd);
    this.#pageKind(place);
    this.#varint(runs.length / 2);
    for (const count of runs) this.#varint(count);
  }

  #pageKind({ expiryMinMs, delays }: PagePlace): void {
    const { out } = this;
    if (delays !== null) {
      out.u8(PAGE_DELAYED);
      out.f64(delays.wakeMinMs);
      out.f64(delays.wakeMaxMs);
      this.#varint(delays.lastNumber);
    } else if (expiryMinMs !== Infinity) {
      out.u8(PAGE_EXPIRES);
      out.f64(expiryMinMs);
    } else {
      out.u8(0);
    }
  }

  unpaged(queueId: number, first: number): void {
    this.#begin(ENTRY_UNPAGED, queueId, first);
  }

  pageMoved(queueId: number, first: number, file: number, offset: number): void {
    this.#begin(ENTRY_PAGE_MOVED, queueId, first);
    this.#varint(file);
    this.#varint(offset);
  }

  lastPosition(queueId: number, position: number): void {
    this.#begin(ENTRY_LAST_POSITION, queueId, position);
  }

  lastQueueId(queueId: number): void {
    this.out.u8(ENTRY_LAST_QUEUE_ID);
    this.#varint(queueId);
  }

  defined(kind: DefinitionKind, key: string, value: unknown): void {
    this.out.u8(ENTRY_DEFINED);
    this.out.u8(KINDS.indexOf(kind));
    const texts = this.#texts;
    texts.byteCount = 0;
    const keyBytes = texts.text(key);
    const valueBytes = texts.text(JSON.stringify(value));
    this.#varint(keyBytes);
    this.#varint(valueBytes);
    this.out.range(texts.bytes, 0, texts.byteCount);
  }

  undefined(kind: DefinitionKind, key: string): void {
    this.out.u8(ENTRY_UNDEFINED);
    this.out.u8(KINDS.indexOf(kind));
    const texts = this.#texts;
    texts.byteCount = 0;
    this.#varint(texts.text(key));
    this.out.range(texts.bytes, 0, texts.byteCount);
  }

  /** Adds an entry that consists of its type alone. */
  mark(type: number): void {
    this.out.u8(type);
  }

  #begin(type: number, queueId: number, position: number): void {
    const { out } = this;
    out.ensure(1 + 2 * VARINT_BYTES_MAX);
    out.bytes[out.byteCount] = type;
    const at = putVarint(out.bytes, out.byteCount + 1, queueId);
    out.byteCount = putVarint(out.bytes, at, position);
  }

  #varint(value: number): void {
    const { out } = this;
    out.ensure(VARINT_BYTES_MAX);
    out.byteCount = putVarint(out.bytes, out.byteCount, value);
  }
}

/** Changes the file that the batch in `bytes[0, byteCount)` names, and its checksum. */
export function renameFile(bytes: Uint8Array, byteCount: number, to: FileName): void {
  putU32(bytes, FILE_OFFSET, to.file >>> 0);
  putU32(bytes, CHECKSUM_OFFSET, checksum(bytes, CHECKED_FROM, byteCount, to.seed));
}

/**
 * Packs an entry into the small number that goes to disk: twice the deliveries spent, plus 1 if the
 * message has been delivered before. A message with deliveries spent has always been delivered
 * before. So an even number above 0 is free to say that the last delivery was not spent.
 */
export function packEntry(entry: number): number {
  const count = entry & ENTRY_COUNT_MASK;
  const isUnspent = (entry & ENTRY_UNSPENT) !== 0 && count > 0;
  return count * 2 + (isUnspent ? 0 : entry >>> 31);
}

/**
 * Returns the entry that {@link packEntry} made `packed` from. ENTRY_UNSPENT is lost when no
 * delivery was spent.
 */
export function unpackEntry(packed: number): number {
  const count = Math.floor(packed / 2);
  if (packed % 2 !== 0) return (count | ENTRY_REDELIVERED) >>> 0;
  return count === 0 ? 0 : (count | ENTRY_REDELIVERED | ENTRY_UNSPENT) >>> 0;
}
