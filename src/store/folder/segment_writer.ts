// Appends to segment files that all queues share, and syncs in groups, one sync at a time. The
// pager and the page mover write through it. Appended bytes are safe when their ticket is. After an
// error all bytes that are not safe yet are void, and the next append goes to a fresh file.

import { DiskError, type FileHandle } from "../file_system.ts";
import type { DataFile, DataFiles } from "./data_files.ts";

// A file in which nothing is alive is ended when it has an eighth of its full size (fileBytesMax /
// 8).
const DEAD_PART = 8;

/** The parts of a {@link SegmentWriter}. */
export interface SegmentWriterParts {
  files: DataFiles;
  /** False: bytes count as safe once they are written. */
  isSynced: boolean;
  /** A segment file is full at this size. */
  fileBytesMax: number;
  /** Called when a sync has ended and a turn should follow. */
  wake: () => void;
  /** Called when nothing is appended to the file any more. */
  closed: (file: DataFile) => void;
  failed: (what: string, error: DiskError) => void;
}

/** Writes segment files. */
export class SegmentWriter {
  /** Everything up to this ticket of this generation is safe. */
  safeTicket = 0;
  /** Grows when bytes that were not safe have become void. */
  generation = 0;
  readonly #parts: SegmentWriterParts;
  #file: DataFile | null = null;
  #handle: FileHandle | null = null;
  #lastTicket = 0;
  #isSyncing = false;

  constructor(parts: SegmentWriterParts) {
    this.#parts = parts;
  }

  /** Ticket of the last append. */
  get lastTicket(): number {
    return this.#lastTicket;
  }

  /**
   * Appends `bytes[0, byteCount)`, whole pages or batches. @throws DiskError when nothing was
   * appended
   */
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

  /**
   * Starts a sync of the bytes that are not safe, unless one is under way. Further syncs follow by
   * themselves.
   */
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
    this.generation++;
    this.safeTicket = this.#lastTicket;
    this.close();
  }

  /** Ends the current file. Bytes in it that are not safe must not be needed any more. */
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
