// Reads batches and their entries back: for recovery, snapshots and the offline check. It trusts
// nothing: a batch with a wrong checksum is skipped whole, and entries that do not decode make
// their batch damaged.

import { readF64, readU32, readU64 } from "../../lib/bytes.ts";
import { decodeText } from "../../lib/text.ts";
import { checksum } from "../checksum.ts";
import type { PageDelays, PagePlace } from "../page.ts";
import type { Death, DefinitionKind, Delay, RemovalCause } from "../port.ts";
import { VarintReader } from "../varint.ts";
import { type BatchChain, type Placed, unpackEntry } from "./batch_writer.ts";
import * as format from "./format.ts";
import { emptyRow } from "./message_row.ts";

/** Whether a batch was found in another file than the one it was written to. */
export function isForeign(batch: BatchPlace, fileNumber: number): boolean {
  return batch.file !== 0 && batch.file !== fileNumber >>> 0;
}

/** The facts of a record's entry, without its bytes. */
export interface RecordMeta {
  /** Offset of the entry in the file. */
  offset: number;
  /** Bytes of the whole entry. */
  recordBytes: number;
  flags: number;
  priority: number;
  addressBytes: number;
  propertiesBytes: number;
  bodyBytes: number;
  arrivalMs: number;
  expiryMs: number;
  /** Checksum of its parts. */
  checksum: number;
  /** Offset of its parts in the bytes from which it was read. */
  partsAt: number;
}

/** Is told every entry of a batch. Objects are reused between calls. */
export interface BatchVisitor {
  enqueued(queueId: number, position: number, record: RecordMeta): void;
  placed(placed: Placed): void;
  delivered(queueId: number, position: number, entry: number): void;
  requeued(queueId: number, position: number, entry: number): void;
  delayed(queueId: number, position: number, delay: Delay): void;
  dying(queueId: number, position: number, death: Death): void;
  returned(queueId: number, position: number, newPosition: number): void;
  removed(queueId: number, position: number, cause: RemovalCause): void;
  purged(queueId: number): void;
  moved(queueId: number, position: number, file: number, offset: number): void;
  defined(kind: DefinitionKind, key: string, value: unknown): void;
  undefined(kind: DefinitionKind, key: string): void;
  lastPosition(queueId: number, position: number): void;
  lastQueueId(queueId: number): void;
  /** `runs`: numbers of positions skipped and taken, in turn, from the first position on. */
  paged(queueId: number, place: PagePlace, runs: readonly number[]): void;
  unpaged(queueId: number, first: number): void;
  pageMoved(queueId: number, first: number, file: number, offset: number): void;
  end(): void;
}

/** A batch as it stands in a file's bytes. */
export interface BatchPlace extends BatchChain {
  number: number;
  timeMs: number;
  /** Where the batch begins. */
  start: number;
  /** Where its payload begins. */
  payloadStart: number;
  /** Where the batch ends. */
  end: number;
}

/** The bytes do not decode although their checksum holds. */
export class BatchFormatError extends Error {
  override readonly name = "BatchFormatError";
}

/** Returns the batch that begins at `start`, or null when no batch with a right checksum does. */
export function batchAt(bytes: Uint8Array, start: number, seed: number): BatchPlace | null {
  const payloadStart = start + format.BATCH_HEADER_BYTES;
  if (payloadStart > bytes.length || readU32(bytes, start) !== format.BATCH_MAGIC) return null;
  const end = payloadStart + readU32(bytes, start + 4);
  if (end > bytes.length || (end & 7) !== (start & 7)) return null;
  const expected = readU32(bytes, start + format.CHECKSUM_OFFSET);
  if (checksum(bytes, start + format.CHECKED_FROM, end, seed) !== expected) return null;
  return {
    number: readU64(bytes, start + 16),
    timeMs: readF64(bytes, start + 24),
    previous: readU64(bytes, start + 32),
    safe: readU64(bytes, start + 40),
    file: readU32(bytes, start + format.FILE_OFFSET),
    start,
    payloadStart,
    end,
  };
}

/** Decodes entries. It may be used again. */
export class EntryReader {
  readonly #reader = new VarintReader(new Uint8Array(0));
  readonly #record: RecordMeta = {
    offset: 0,
    recordBytes: 0,
    flags: 0,
    priority: 0,
    addressBytes: 0,
    propertiesBytes: 0,
    bodyBytes: 0,
    arrivalMs: 0,
    expiryMs: 0,
    checksum: 0,
    partsAt: 0,
  };
  readonly #delay: Delay = { dueMs: 0, entry: 0, number: 0 };
  readonly #death: Death = { reason: "rejected", entry: 0 };
  readonly #placed: Placed = { ...emptyRow(), queueId: 0, position: 0 };

  /** Gives every entry of a batch to `visitor`. @throws BatchFormatError, VarintError */
  read(bytes: Uint8Array, batch: BatchPlace, visitor: BatchVisitor): void {
    const reader = this.#reader;
    reader.reset(bytes, batch.payloadStart, batch.end);
    this.#record.offset = -1;
    while (!reader.done) {
      const at = reader.at;
      const type = this.#u8();
      if (type === format.ENTRY_PADDING) return;
      this.#entry(type, at, visitor);
    }
  }

  /** Reads the record whose entry begins at `at`; the bytes must reach to its end. */
  recordAt(bytes: Uint8Array, at: number, end: number): RecordMeta {
    const reader = this.#reader;
    const resumeAt = reader.at;
    const { bytes: resumeBytes, end: resumeEnd } = reader;
    reader.reset(bytes, at, end);
    if (this.#u8() !== format.ENTRY_RECORD) throw new BatchFormatError(`no record at byte ${at}`);
    this.#readRecord(at);
    reader.reset(resumeBytes, resumeAt, resumeEnd);
    return this.#record;
  }

  #entry(type: number, at: number, visitor: BatchVisitor): void {
    const reader = this.#reader;
    switch (type) {
      case format.ENTRY_RECORD:
        this.#readRecord(at);
        return;
      case format.ENTRY_ENQUEUED: {
        const queueId = reader.next();
        const position = reader.next();
        const recordAt = at - reader.next();
        // The record is nearly always the entry before.
        const isRead = this.#record.offset === recordAt;
        if (!isRead) this.recordAt(reader.bytes, recordAt, reader.end);
        return visitor.enqueued(queueId, position, this.#record);
      }
      case format.ENTRY_PLACED:
        return visitor.placed(this.#readPlaced());
      case format.ENTRY_DELIVERED:
        return visitor.delivered(reader.next(), reader.next(), unpackEntry(reader.next()));
      case format.ENTRY_REQUEUED:
        return visitor.requeued(reader.next(), reader.next(), unpackEntry(reader.next()));
      case format.ENTRY_DELAYED: {
        const queueId = reader.next();
        const position = reader.next();
        const delay = this.#delay;
        delay.dueMs = reader.next();
        delay.entry = unpackEntry(reader.next());
        delay.number = reader.next();
        return visitor.delayed(queueId, position, delay);
      }
      case format.ENTRY_RETURNED:
        return visitor.returned(reader.next(), reader.next(), reader.next());
      case format.ENTRY_REMOVED:
        return visitor.removed(reader.next(), reader.next(), format.CAUSES[this.#u8()] ?? "acked");
      case format.ENTRY_PURGED:
        return visitor.purged(reader.next());
      default:
        return this.#rareEntry(type, visitor);
    }
  }

  #rareEntry(type: number, visitor: BatchVisitor): void {
    const reader = this.#reader;
    switch (type) {
      case format.ENTRY_DYING:
        return visitor.dying(reader.next(), reader.next(), this.#readDeath());
      case format.ENTRY_MOVED: {
        const queueId = reader.next();
        const position = reader.next();
        return visitor.moved(queueId, position, reader.next(), reader.next());
      }
      case format.ENTRY_DEFINED: {
        const kind = this.#kind();
        const keyBytes = reader.next();
        const valueBytes = reader.next();
        const key = this.#text(keyBytes);
        return visitor.defined(kind, key, JSON.parse(this.#text(valueBytes)));
      }
      case format.ENTRY_UNDEFINED:
        return visitor.undefined(this.#kind(), this.#text(reader.next()));
      case format.ENTRY_LAST_POSITION:
        return visitor.lastPosition(reader.next(), reader.next());
      case format.ENTRY_LAST_QUEUE_ID:
        return visitor.lastQueueId(reader.next());
      case format.ENTRY_PAGED:
        return visitor.paged(reader.next(), this.#readPagePlace(), this.#readRuns());
      case format.ENTRY_UNPAGED:
        return visitor.unpaged(reader.next(), reader.next());
      case format.ENTRY_PAGE_MOVED:
        return visitor.pageMoved(reader.next(), reader.next(), reader.next(), reader.next());
      case format.ENTRY_END:
        return visitor.end();
      default:
        if (type >= format.ENTRY_OPTIONAL) return this.#passOver();
        throw new BatchFormatError(`unknown entry type ${type}`);
    }
  }

  #passOver(): void {
    const reader = this.#reader;
    const byteCount = reader.next();
    reader.at += byteCount;
    if (reader.at > reader.end) throw new BatchFormatError("entry is cut short");
  }

  #readRecord(at: number): void {
    const record = this.#record;
    const reader = this.#reader;
    const flags = this.#u8();
    record.offset = at;
    record.flags = flags & ~format.RECORD_HAS_EXPIRY;
    record.priority = this.#u8();
    record.addressBytes = reader.next();
    record.propertiesBytes = reader.next();
    record.bodyBytes = reader.next();
    record.arrivalMs = this.#f64();
    record.expiryMs = (flags & format.RECORD_HAS_EXPIRY) === 0 ? Infinity : this.#f64();
    if (reader.at + 4 > reader.end) throw new BatchFormatError("entry is cut short");
    record.checksum = readU32(reader.bytes, reader.at);
    reader.at += 4;
    record.partsAt = reader.at;
    reader.at += record.addressBytes + record.propertiesBytes + record.bodyBytes;
    if (reader.at > reader.end) throw new BatchFormatError(`record at byte ${at} is cut short`);
    record.recordBytes = reader.at - at;
  }

  #readPlaced(): Placed {
    const reader = this.#reader;
    const placed = this.#placed;
    placed.queueId = reader.next();
    placed.position = reader.next();
    placed.file = reader.next();
    placed.offset = reader.next();
    placed.recordBytes = reader.next();
    placed.state = this.#readState();
    placed.entry = unpackEntry(reader.next());
    const isDelayed = placed.state === format.STATE_DELAYED;
    placed.dueMs = isDelayed ? reader.next() : 0;
    placed.delayNumber = isDelayed ? reader.next() : 0;
    const flags = this.#u8();
    placed.flags = flags & ~format.RECORD_HAS_EXPIRY;
    placed.priority = this.#u8();
    placed.bodyBytes = reader.next();
    placed.arrivalMs = this.#f64();
    placed.expiryMs = (flags & format.RECORD_HAS_EXPIRY) === 0 ? Infinity : this.#f64();
    return placed;
  }

  #readState(): number {
    const state = this.#u8();
    if (state <= format.STATE_DELAYED || format.deathCauseOf(state) !== null) return state;
    throw new BatchFormatError(`unknown state ${state} of a message`);
  }

  #readDeath(): Death {
    const death = this.#death;
    death.entry = unpackEntry(this.#reader.next());
    const cause = format.CAUSES[this.#u8()];
    if (cause === undefined || cause === "acked" || cause === "purged" || cause === "deleted") {
      throw new BatchFormatError("unknown cause of a death");
    }
    death.reason = cause;
    return death;
  }

  #readPagePlace(): PagePlace {
    const reader = this.#reader;
    const first = reader.next();
    const last = first + reader.next();
    const count = reader.next();
    const bodyBytes = reader.next();
    const file = reader.next();
    const offset = reader.next();
    const byteLength = reader.next();
    const indexEnd = reader.next();
    const kind = this.#u8();
    if (kind > format.PAGE_DELAYED) throw new BatchFormatError(`unknown kind of a page ${kind}`);
    const expiryMinMs = kind === format.PAGE_EXPIRES ? this.#f64() : Infinity;
    const delays = kind === format.PAGE_DELAYED ? this.#readPageDelays() : null;
    const about = { first, last, count, bodyBytes, expiryMinMs, delays };
    return { file, offset, byteLength, indexEnd, ...about };
  }

  #readPageDelays(): PageDelays {
    const wakeMinMs = this.#f64();
    const wakeMaxMs = this.#f64();
    return { wakeMinMs, wakeMaxMs, lastNumber: this.#reader.next() };
  }

  #readRuns(): number[] {
    const reader = this.#reader;
    const runs: number[] = [];
    for (let left = reader.next(); left > 0; left--) runs.push(reader.next(), reader.next());
    return runs;
  }

  #kind(): DefinitionKind {
    const kind = format.KINDS[this.#u8()];
    if (kind === undefined) throw new BatchFormatError("unknown kind of definition");
    return kind;
  }

  #u8(): number {
    const reader = this.#reader;
    if (reader.at >= reader.end) throw new BatchFormatError("entry is cut short");
    return reader.bytes[reader.at++]!;
  }

  #f64(): number {
    const reader = this.#reader;
    if (reader.at + 8 > reader.end) throw new BatchFormatError("entry is cut short");
    const value = readF64(reader.bytes, reader.at);
    reader.at += 8;
    return value;
  }

  #text(byteCount: number): string {
    const reader = this.#reader;
    const start = reader.at;
    reader.at += byteCount;
    if (reader.at > reader.end) throw new BatchFormatError("text is cut short");
    return decodeText(reader.bytes, start, reader.at);
  }
}
