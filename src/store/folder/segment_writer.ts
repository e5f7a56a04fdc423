// Appends to segment files that all queues share, and syncs in groups, one sync at a time. All that is
// written to segments has one life cycle: appended bytes are a draft that means nothing. Once they are
// safe, whoever has appended them gives them a meaning and ends the draft. After an error all drafts
// that are not safe are void, and the next append goes to a fresh file.

import { DiskError, type FileHandle } from "../file_system.ts";
import type { DataFile, DataFiles } from "./data_files.ts";

// A file in which nothing is alive is ended when it has an eighth of its full size (fileBytesMax /
// 8).
const DEAD_PART = 8;

/** The parts of a {@link SegmentWriter}. */
export interface SegmentWriterParts {
  files: DataFiles;
  /** A segment file is full at this size. */
  fileBytesMax: number;
  /** Called when a sync has ended and a turn should follow. */
  wake: () => void;
  /** Called when nothing in the file is alive. */
  emptied: (file: DataFile) => void;
  failed: (what: string, error: DiskError) => void;
}

/** Bytes in a segment file that mean nothing yet. The file stays at least until the draft is ended. */
export interface SegmentDraft {
  readonly file: DataFile;
  /** Where the bytes begin in the file. */
  readonly offset: number;
  readonly ticket: number;
  readonly generation: number;
}

/** Writes segment files. */
export class SegmentWriter {
  readonly #parts: SegmentWriterParts;
  #file: DataFile | null = null;
  #handle: FileHandle | null = null;
  /** Grows when drafts have become void. */
  #generation = 0;
  /** Ticket of the last append. */
  #lastTicket = 0;
  /** Everything up to this ticket of this generation is safe. */
  #safeTicket = 0;
  #isSyncing = false;

  constructor(parts: SegmentWriterParts) {
    this.#parts = parts;
  }

  /**
   * Appends `bytes[0, byteCount)`, whole pages or batches, as a draft of so many parts. Each part is
   * ended by itself.
   * @throws DiskError when nothing was appended
   */
  append(bytes: Uint8Array, byteCount: number, partCount = 1): SegmentDraft {
    try {
      if (this.#file === null) this.#open();
      const file = this.#file!;
      const offset = file.byteLength;
      this.#handle!.write(bytes, 0, byteCount, offset);
      file.byteLength = offset + byteCount;
      file.draftCount += partCount;
      return { file, offset, ticket: ++this.#lastTicket, generation: this.#generation };
    } catch (error) {
      this.#void();
      throw error;
    }
  }

  /** Whether the draft is lost. It will never be safe. */
  isVoid({ generation }: SegmentDraft): boolean {
    return generation !== this.#generation;
  }

  /** Whether it is known if the draft is safe or void. */
  isDecided(draft: SegmentDraft): boolean {
    return this.isVoid(draft) || draft.ticket <= this.#safeTicket;
  }

  /** Ends a part of a decided draft. What is alive in it must be counted in its file by now. */
  end({ file }: SegmentDraft): void {
    file.draftCount--;
    if (file.draftCount === 0 && file.liveRecords === 0) this.#parts.emptied(file);
  }

  /**
   * Starts a sync of the bytes that are not safe, unless one is under way. Further syncs follow by
   * themselves.
   */
  sync(): void {
    if (this.#isSyncing || this.#handle === null || this.#safeTicket === this.#lastTicket) return;
    const ticket = this.#lastTicket;
    const generation = this.#generation;
    this.#isSyncing = true;
    this.#handle.sync((error) => {
      this.#isSyncing = false;
      if (generation === this.#generation) this.#synced(ticket, error);
      this.#parts.wake();
    });
  }

  #synced(ticket: number, error: DiskError | null): void {
    if (error !== null) {
      this.#void();
      this.#parts.failed("sync a segment file", error);
      return;
    }
    this.#safeTicket = ticket;
    this.#closeFull();
    this.sync();
  }

  #open(): void {
    const { file, handle } = this.#parts.files.create("segment");
    file.isPinned = true;
    this.#file = file;
    this.#handle = handle;
  }

  #closeFull(): void {
    const isDone = this.#safeTicket === this.#lastTicket;
    if (this.#file === null || !isDone) return;
    if (this.#file.byteLength >= this.#parts.fileBytesMax) this.close();
  }

  /**
   * Ends the current file if nothing in it is alive or will be, and it is large enough to be worth
   * it.
   */
  closeDead(): void {
    const file = this.#file;
    if (file === null || file.liveRecords > 0 || file.draftCount > 0 || this.#isSyncing) return;
    if (file.byteLength >= this.#parts.fileBytesMax / DEAD_PART) this.close();
  }

  #void(): void {
    this.#generation++;
    this.#safeTicket = this.#lastTicket;
    this.close();
  }

  /** Ends the current file. Drafts in it that are not safe must not be needed any more. */
  close(): void {
    const file = this.#file;
    if (file === null) return;
    this.#handle!.close();
    this.#file = null;
    this.#handle = null;
    file.isPinned = false;
    if (file.liveRecords === 0) this.#parts.emptied(file);
  }
}
