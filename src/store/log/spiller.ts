// Writes the bytes of records that no disk has, because they need not survive, to segment files, so that
// they can be given up under pressure. The evictor chooses them one by one; nothing is synced or logged
// for them, and after a restart nobody knows them.

import { dropBytes, EMPTY_BYTES } from "../../lib/bytes.ts";
import type { Arena } from "../arena.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import { BatchWriter } from "./batch_writer.ts";
import type { Holdings } from "./holdings.ts";
import type { SegmentWriter } from "./segment_writer.ts";

const GROUP_BYTES_MAX = 1024 * 1024;
const KEPT_BYTES_MAX = 4 * 1024 * 1024;

/** Writes records to make room. */
export class Spiller {
  readonly #arena: Arena;
  readonly #holdings: Holdings;
  readonly #segments: SegmentWriter;
  readonly #writer: BatchWriter;
  readonly #view: RecordView = emptyView();
  readonly #refs: number[] = [];
  readonly #offsets: number[] = [];

  constructor(
    parts: { arena: Arena; holdings: Holdings; segments: SegmentWriter; seed: number },
  ) {
    this.#arena = parts.arena;
    this.#holdings = parts.holdings;
    this.#segments = parts.segments;
    this.#writer = new BatchWriter(parts.seed);
  }

  /** Whether a group is full and has to be written before more is added. */
  get isFull(): boolean {
    return this.#refs.length > 0 && this.#writer.out.byteCount >= GROUP_BYTES_MAX;
  }

  /** Adds a record, whose bytes are in memory and on no disk, to the group. */
  add(ref: number): void {
    const writer = this.#writer;
    if (this.#refs.length === 0) writer.open(writer.out.bytes);
    this.#arena.open(ref, this.#view);
    this.#refs.push(ref);
    this.#offsets.push(writer.record(this.#view));
  }

  /**
   * Writes the group, as a batch of number 0, and gives each record to `written`: it has a place now.
   * @throws DiskError; nothing has changed then
   */
  write(nowMs: number, written: (ref: number) => void): void {
    if (this.#refs.length === 0) return;
    const { out } = this.#writer;
    const refs = this.#refs.splice(0);
    const offsets = this.#offsets.splice(0);
    const end = out.byteCount;
    this.#writer.finish(0, nowMs);
    const { file, offset } = this.#segments.append(out.bytes, out.byteCount);
    for (const [index, ref] of refs.entries()) {
      const recordBytes = (offsets[index + 1] ?? end) - offsets[index]!;
      this.#holdings.place(ref, file.number, offset + offsets[index]!, recordBytes);
      file.liveRecords++;
      file.liveBytes += recordBytes;
      written(ref);
    }
    if (out.bytes.length <= KEPT_BYTES_MAX) return;
    dropBytes(out.bytes);
    this.#writer.open(EMPTY_BYTES);
  }
}
