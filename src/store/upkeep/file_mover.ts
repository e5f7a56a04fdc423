// Empties a data file in which little is alive: it copies what is left to a segment file, and when the
// copies are safe, they take the place of what they were copied from (docs/storage.md "Segments"). It
// moves one group at a time. What leaves meanwhile is left out. Keeper chooses the file; a CopySource
// knows what is in it.

import { DiskError } from "../file_system.ts";
import { type CopySource, GATHERED_ALL, GATHERED_NONE } from "../folder/copy_source.ts";
import type { DataFile } from "../folder/data_files.ts";
import type { SegmentDraft, SegmentWriter } from "../folder/segment_writer.ts";

/** The parts of a {@link FileMover}. */
export interface FileMoverParts {
  segments: SegmentWriter;
  options: { logger: { log(level: "error", message: string, fields?: object): void } };
}

/** Moves the things of one kind out of files. */
export class FileMover<Copy> {
  readonly #source: CopySource<Copy>;
  readonly #parts: FileMoverParts;
  #victim: DataFile | null = null;
  #isGathered = false;
  #hasFailed = false;
  /** Copies that are written. */
  #written: { copies: readonly Copy[]; draft: SegmentDraft } | null = null;

  constructor(source: CopySource<Copy>, parts: FileMoverParts) {
    this.#source = source;
    this.#parts = parts;
  }

  get isBusy(): boolean {
    return this.#victim !== null;
  }

  /** Whether something is being read to be copied. */
  get isReading(): boolean {
    return this.#source.isReading;
  }

  /** Starts to empty a file; false when it has nothing of this kind. */
  begin(victim: DataFile): boolean {
    if (!this.#source.begin(victim)) return false;
    victim.isPinned = true;
    this.#victim = victim;
    this.#hasFailed = false;
    return true;
  }

  /** Does a bounded piece of the work; true when the next can be done at once. */
  step(nowMs: number): boolean {
    if (this.#source.isReading) return false;
    if (this.#written !== null) return this.#settle(this.#written);
    if (this.#hasFailed) return this.#end();
    try {
      return this.#isGathered ? this.#write(nowMs) : this.#gather();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#failed(error);
      return false;
    }
  }

  #end(): boolean {
    this.#victim!.isPinned = false;
    this.#victim = null;
    this.#isGathered = false;
    return false;
  }

  #gather(): boolean {
    const gathered = this.#source.gather();
    if (gathered === GATHERED_ALL) return this.#end();
    this.#isGathered = gathered !== GATHERED_NONE;
    return !this.#source.isReading;
  }

  #write(nowMs: number): boolean {
    const { segments } = this.#parts;
    this.#isGathered = false;
    const { copies, bytes, byteCount } = this.#source.copy(nowMs);
    if (copies.length === 0) return true;
    this.#written = { copies, draft: segments.append(bytes, byteCount) };
    segments.sync();
    return false;
  }

  #settle({ copies, draft }: { copies: readonly Copy[]; draft: SegmentDraft }): boolean {
    const { segments } = this.#parts;
    if (!segments.isDecided(draft)) return false;
    this.#written = null;
    if (segments.isVoid(draft)) this.#hasFailed = true;
    else for (const copy of copies) this.#source.moved(copy, draft.file, draft.offset);
    segments.end(draft);
    return true;
  }

  #failed(error: DiskError): void {
    this.#hasFailed = true;
    const fields = { file: this.#victim?.name, error: error.message };
    this.#parts.options.logger.log("error", "cannot move records out of a data file", fields);
  }
}
