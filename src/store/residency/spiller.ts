// Writes records to segment files that no disk has, because they need not survive, so that their
// memory can be freed under pressure. The evictor chooses them one by one, and gives them up once
// they are synced: after a failed sync the system may have lost the bytes. Nothing is logged about
// them, and a restart does not know them.

import { dropBytes, EMPTY_BYTES } from "../../lib/bytes.ts";
import type { Arena } from "../memory/arena.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import { BatchWriter } from "../format/batch_writer.ts";
import type { Holdings } from "../live/holdings.ts";
import type { SegmentDraft, SegmentWriter } from "../folder/segment_writer.ts";

const GROUP_BYTES_MAX = 1024 * 1024;
const IN_FLIGHT_BYTES_MAX = 8 * 1024 * 1024;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** Records that are written but not safe yet. */
interface Group {
  refs: number[];
  /** Offset of each record in the file, then the end of the last one. */
  offsets: number[];
  bytes: number;
  segment: SegmentDraft;
}

/** The parts of a {@link Spiller}. */
export interface SpillerParts {
  arena: Arena;
  holdings: Holdings;
  segments: SegmentWriter;
  seed: number;
}

/** Writes records to free memory. */
export class Spiller {
  readonly #parts: SpillerParts;
  readonly #writer: BatchWriter;
  readonly #view: RecordView = emptyView();
  #refs: number[] = [];
  #offsets: number[] = [];
  #groups: Group[] = [];
  /**
   * The group of each record. A freed record has none, because its reference may name another
   * record.
   */
  readonly #unsafe = new Map<number, Group>();
  #inFlightBytes = 0;

  constructor(parts: SpillerParts) {
    this.#parts = parts;
    this.#writer = new BatchWriter(parts.seed);
  }

  /**
   * Whether the group is full, or as much as is allowed is being written. Then no record may be
   * added.
   */
  get isFull(): boolean {
    if (this.#inFlightBytes >= IN_FLIGHT_BYTES_MAX) return true;
    return this.#refs.length > 0 && this.#writer.out.byteCount >= GROUP_BYTES_MAX;
  }

  /** Whether `settle` has something to do. */
  get hasSettled(): boolean {
    const group = this.#groups[0];
    return group !== undefined && this.#parts.segments.isDecided(group.segment);
  }

  /**
   * Adds a record to the group, unless it is being written. Its bytes must be in memory and on no
   * disk.
   */
  add(ref: number): void {
    if (this.#unsafe.has(ref)) return;
    const writer = this.#writer;
    if (this.#refs.length === 0) writer.open(writer.out.bytes);
    this.#parts.arena.open(ref, this.#view);
    this.#refs.push(ref);
    this.#offsets.push(writer.record(this.#view));
  }

  /** Is told that a record without a place on a disk has been freed. */
  freed(ref: number): void {
    if (this.#unsafe.size > 0) this.#unsafe.delete(ref);
  }

  /**
   * Writes the group, as a batch of number 0; false when it is empty. @throws DiskError; then nothing
   * has changed
   */
  write(nowMs: number): boolean {
    if (this.#refs.length === 0) return false;
    const { segments } = this.#parts;
    const { out } = this.#writer;
    const refs = this.#refs;
    const offsets = this.#offsets;
    this.#refs = [];
    this.#offsets = [];
    offsets.push(out.byteCount);
    this.#writer.finish(0, nowMs);
    const segment = segments.append(out.bytes, out.byteCount);
    for (let index = 0; index < offsets.length; index++) offsets[index]! += segment.offset;
    const bytes = out.byteCount;
    const group = { refs, offsets, bytes, segment };
    this.#groups.push(group);
    for (const ref of refs) this.#unsafe.set(ref, group);
    this.#inFlightBytes += bytes;
    segments.sync();
    if (out.bytes.length <= KEPT_BYTES_MAX) return true;
    dropBytes(out.bytes);
    this.#writer.open(EMPTY_BYTES);
    return true;
  }

  /**
   * Gives each record of a group that is safe now to `written`: it has a place. False: the group is
   * void.
   */
  settle(written: (ref: number) => void): boolean {
    const { holdings, segments } = this.#parts;
    const group = this.#groups.shift()!;
    const { refs, offsets, bytes, segment } = group;
    const { file } = segment;
    const isVoid = segments.isVoid(segment);
    this.#inFlightBytes -= bytes;
    for (const [index, ref] of refs.entries()) {
      if (this.#unsafe.get(ref) !== group) continue;
      this.#unsafe.delete(ref);
      // The log may have written the record since.
      if (isVoid || holdings.fileOf(ref) !== 0) continue;
      const recordBytes = offsets[index + 1]! - offsets[index]!;
      holdings.place(ref, file.number, offsets[index]!, recordBytes);
      file.liveRecords++;
      file.liveBytes += recordBytes;
      written(ref);
    }
    segments.end(segment);
    return !isVoid;
  }
}
