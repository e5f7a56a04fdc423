// Builds pages: messages of one queue with an index in front (see format.ts). The pager gives it
// the messages one by one, in order of position. It knows bytes, not lanes or files.

import { assert } from "../../lib/assert.ts";
import { ByteWriter } from "../../lib/byte_writer.ts";
import { EMPTY_BYTES, putF64, putU32 } from "../../lib/bytes.ts";
import { checksum } from "../checksum.ts";
import type { PageDelays, PagedMessage } from "../page.ts";
import { RECORD_PERSISTENT, type RecordView } from "../port.ts";
import { putVarint, VARINT_BYTES_MAX } from "../varint.ts";
import { BatchWriter, packEntry } from "../format/batch_writer.ts";
import * as format from "../format/format.ts";

// A larger buffer is given back, so that a page of one huge message does not keep it for ever.
const KEPT_BYTES_MAX = 1024 * 1024;

// The most bytes of eight numbers, flags, priority and three times.
const ROW_BYTES_MAX = 8 * VARINT_BYTES_MAX + 2 + 3 * 8;

/** Collects the messages of a page. */
export class PageWriter {
  /** Messages added since `begin`. */
  count = 0;
  bodyBytes = 0;
  expiryMinMs = Infinity;
  delays: PageDelays | null = null;
  first = 0;
  last = 0;
  /** Persistent messages among them. */
  persistentCount = 0;
  persistentBodyBytes = 0;
  /**
   * The positions of the persistent messages: numbers of positions skipped and taken, in turn, from
   * the first message on.
   */
  runs: number[] = [];
  /** Position behind the last of these. */
  #runEnd = 0;
  readonly #seed: number;
  readonly #index = new ByteWriter();
  readonly #records: BatchWriter;
  #arrivalMs = -1;

  /** `seed` is the seed of every checksum in the folder. */
  constructor(seed: number) {
    this.#seed = seed;
    this.#records = new BatchWriter(seed);
  }

  /** Bytes the page has so far. */
  get byteCount(): number {
    return this.#index.byteCount + this.#records.out.byteCount;
  }

  /** Starts a page. */
  begin(): void {
    const { out } = this.#records;
    this.#records.open(out.bytes.length > KEPT_BYTES_MAX ? EMPTY_BYTES : out.bytes);
    this.#index.reset();
    this.count = 0;
    this.bodyBytes = 0;
    this.expiryMinMs = Infinity;
    this.delays = null;
    this.persistentCount = 0;
    this.persistentBodyBytes = 0;
    this.runs = [];
    this.#arrivalMs = -1;
  }

  /** Adds a message whose bytes `view` shows. */
  add(message: PagedMessage, view: RecordView): void {
    const { position, endMs } = message;
    const bodyBytes = view.bodyEnd - view.bodyStart;
    assert(this.count === 0 || position > this.last, "positions in a page do not rise");
    const before = this.#records.out.byteCount;
    this.#records.record(view);
    this.#row(message, view, this.#records.out.byteCount - before);
    if (this.count === 0) {
      this.first = position;
      this.#runEnd = position;
    }
    this.last = position;
    this.count++;
    this.bodyBytes += bodyBytes;
    if (endMs < this.expiryMinMs) this.expiryMinMs = endMs;
    if (message.delayNumber > 0) this.#delayed(message);
    if ((view.flags & RECORD_PERSISTENT) === 0) return;
    this.persistentCount++;
    this.persistentBodyBytes += bodyBytes;
    const { runs } = this;
    if (position === this.#runEnd && runs.length > 0) runs[runs.length - 1]!++;
    else runs.push(position - this.#runEnd, 1);
    this.#runEnd = position + 1;
  }

  #delayed({ dueMs, endMs, delayNumber }: PagedMessage): void {
    const wakeMs = Math.min(dueMs, endMs);
    this.delays ??= { wakeMinMs: wakeMs, wakeMaxMs: wakeMs, lastNumber: delayNumber };
    const { wakeMinMs, wakeMaxMs, lastNumber } = this.delays;
    this.delays.wakeMinMs = Math.min(wakeMinMs, wakeMs);
    this.delays.wakeMaxMs = Math.max(wakeMaxMs, wakeMs);
    this.delays.lastNumber = Math.max(lastNumber, delayNumber);
  }

  #row(message: PagedMessage, view: RecordView, recordBytes: number): void {
    const index = this.#index;
    const { position, entry, endMs } = message;
    const { arrivalMs, expiryMs } = view;
    index.ensure(ROW_BYTES_MAX);
    const { bytes } = index;
    const delta = this.count === 0 ? position : position - this.last;
    let at = putVarint(bytes, index.byteCount, delta);
    at = putVarint(bytes, at, packEntry(entry));
    const flagsAt = at;
    let flags = view.flags;
    bytes[at + 1] = view.priority;
    at = putVarint(bytes, at + 2, recordBytes);
    at = putVarint(bytes, at, view.addressEnd - view.addressStart);
    at = putVarint(bytes, at, view.propertiesEnd - view.propertiesStart);
    at = putVarint(bytes, at, view.bodyEnd - view.bodyStart);
    if (arrivalMs === this.#arrivalMs) flags |= format.ROW_SAME_ARRIVAL;
    else at = putTime(bytes, at, arrivalMs);
    if (expiryMs !== Infinity) {
      flags |= format.RECORD_HAS_EXPIRY;
      at = putTime(bytes, at, expiryMs);
    }
    if (endMs !== expiryMs) {
      flags |= format.ROW_HAS_END;
      at = putTime(bytes, at, endMs);
    }
    if (message.delayNumber > 0) {
      flags |= format.ROW_DELAYED;
      at = putVarint(bytes, at, message.dueMs);
      at = putVarint(bytes, at, message.delayNumber);
    }
    bytes[flagsAt] = flags;
    index.byteCount = at;
    this.#arrivalMs = arrivalMs;
  }

  /**
   * Appends the page to `out`, which ends on a multiple of 8. Returns the offset in `out` at which
   * its index ends.
   */
  finish(queueId: number, out: ByteWriter): number {
    const index = this.#index;
    const records = this.#records.out;
    const recordBytes = records.byteCount - format.BATCH_HEADER_BYTES;
    const start = out.byteCount;
    const paddingBytes = -(start + format.PAGE_HEADER_BYTES + index.byteCount + recordBytes) & 7;
    out.u32(format.PAGE_MAGIC);
    out.u32(index.byteCount + recordBytes + paddingBytes);
    out.u32(0);
    out.u32(index.byteCount);
    out.u64(queueId);
    out.u32(this.count);
    out.u32(0);
    out.range(index.bytes, 0, index.byteCount);
    const indexEnd = out.byteCount;
    out.range(records.bytes, format.BATCH_HEADER_BYTES, records.byteCount);
    for (let i = 0; i < paddingBytes; i++) out.u8(0);
    const { bytes, byteCount } = out;
    const recordsSum = checksum(bytes, indexEnd, byteCount, this.#seed);
    putU32(bytes, start + format.PAGE_RECORDS_CHECKSUM_OFFSET, recordsSum);
    const indexSum = checksum(bytes, start + format.CHECKED_FROM, indexEnd, this.#seed);
    putU32(bytes, start + format.CHECKSUM_OFFSET, indexSum);
    return indexEnd - start;
  }
}

function putTime(bytes: Uint8Array, at: number, timeMs: number): number {
  putF64(bytes, at, timeMs);
  return at + 8;
}
