// Appends to segment files that all queues share, and syncs what was appended in groups, one sync at a
// time. The pager and the page mover write through it. What was appended is safe when its ticket is;
// after an error everything not yet safe is void, and the next append goes to a fresh file.

import { DiskError, type FileHandle } from "../file_system.ts";
import type { DataFile, DataFiles } from "./data_files.ts";

// A file of which nothing is alive any more is ended when it has this part of its size.
const DEAD_PART = 8;

/** What a {@link SegmentWriter} is made of. */
export interface SegmentWriterParts {
  files: DataFiles;
  /** False: what is written counts as safe. */
  isSynced: boolean;
  /** A segment is full from here on. */
  fileBytesMax: number;
  /** A sync has ended: a turn should follow. */
  wake: () => void;
  /** Nothing is appended to the file any more. */
  closed: (file: DataFile) => void;
  failed: (what: string, error: DiskError) => void;
}

/** Writes segment files. */
export class SegmentWriter {
  /** Everything up to this ticket of this generation is safe. */
  safeTicket = 0;
  /** Grows when what was not safe has become void. */
  generation = 0;
  readonly #parts: SegmentWriterParts;
  #file: DataFile | null = null;
  #handle: FileHandle | null = null;
  #lastTicket = 0;
  #isSyncing = false;

  constructor(parts: SegmentWriterParts) {
    this.#parts = parts;
  }

  /** Ticket of what was appended last. */
  get lastTicket(): number {
    return this.#lastTicket;
  }

  /** Appends `bytes[0, byteCount)`, whole pages or batches. @throws DiskError when nothing was */
  append(bytes: Uint8Array, byteCount: number): { file: DataFile; offset: number } {
    try {
      if (this.#file === null) this.#open();
      const file = this.#file!;
      const offset = file.byteLength;
      this.#handle!.write(bytes, 0, byteCount, offset);
      file.byteLength = offset + byteCount;
      this.#lastTicket++;
      return { file, offset };
    } catch (error) {
      this.#void();
      throw error;
    }
  }

  /** Starts to make safe what is not, unless that is under way; it goes on by itself then. */
  sync(): void {
    if (this.#isSyncing || this.#handle === null || this.safeTicket === this.#lastTicket) return;
    if (!this.#parts.isSynced) {
      this.safeTicket = this.#lastTicket;
      this.#closeFull();
      return;
    }
    const ticket = this.#lastTicket;
    const { generation } = this;
    this.#isSyncing = true;
    this.#handle.sync((error) => {
      this.#isSyncing = false;
      if (generation === this.generation) this.#synced(ticket, error);
      this.#parts.wake();
    });
  }

  #synced(ticket: number, error: DiskError | null): void {
    if (error !== null) {
      this.#void();
      this.#parts.failed("sync a segment file", error);
      return;
    }
    this.safeTicket = ticket;
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
    const isDone = this.safeTicket === this.#lastTicket;
    if (this.#file === null || !isDone) return;
    if (this.#file.byteLength >= this.#parts.fileBytesMax) this.close();
  }

  /** Ends the current file if nothing in it is alive or will be and it is worth its room. */
  closeDead(): void {
    const file = this.#file;
    if (file === null || file.liveRecords > 0 || file.draftCount > 0 || this.#isSyncing) return;
    if (file.byteLength >= this.#parts.fileBytesMax / DEAD_PART) this.close();
  }

  #void(): void {
    this.generation++;
    this.safeTicket = this.#lastTicket;
    this.close();
  }

  /** Ends the current file; what is not safe in it must not be needed any more. */
  close(): void {
    const file = this.#file;
    if (file === null) return;
    this.#handle!.close();
    this.#file = null;
    this.#handle = null;
    file.isPinned = false;
    this.#parts.closed(file);
  }
}
