// Moves pages out of a segment file in which little else is alive. It copies their bytes as they
// are, and when the copies are safe, enters the new places into the log. It moves some pages at a
// time, and leaves out a page that is taken apart or dropped meanwhile. Keeper chooses the file;
// the Mover moves single records.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { readU32 } from "../../lib/bytes.ts";
import { DiskError } from "../file_system.ts";
import { type Page, PAGE_GONE } from "../page.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { PAGE_MAGIC } from "../format/format.ts";
import type { PageSet } from "./page_set.ts";
import type { SegmentWriter } from "../folder/segment_writer.ts";
import type { StoreSizes } from "../folder/sizes.ts";

interface Copy {
  page: Page;
  offset: number;
}

/** Copies of pages that are not safe yet. */
interface Group {
  copies: Copy[];
  file: DataFile;
  ticket: number;
  generation: number;
}

/** Moves pages. */
export class PageMover {
  readonly #parts: {
    files: DataFiles;
    log: CommitLog;
    pages: PageSet;
    segments: SegmentWriter;
    sizes: StoreSizes;
    wake: () => void;
  };
  readonly #out = new ByteWriter();
  #victim: DataFile | null = null;
  #left: Page[] = [];
  /** Pages whose copies are in `#out` and still have to be written. */
  #read: Copy[] = [];
  #readingCount = 0;
  #group: Group | null = null;
  #hasFailed = false;

  constructor(
    parts: {
      files: DataFiles;
      log: CommitLog;
      pages: PageSet;
      segments: SegmentWriter;
      sizes: StoreSizes;
      wake: () => void;
    },
  ) {
    this.#parts = parts;
  }

  get isBusy(): boolean {
    return this.#victim !== null;
  }

  /** Starts to move the pages out of a file; false when it has none. */
  begin(victim: DataFile): boolean {
    this.#left = this.#parts.pages.inFile(victim.number);
    if (this.#left.length === 0) return false;
    victim.isPinned = true;
    this.#victim = victim;
    this.#hasFailed = false;
    return true;
  }

  /** Does a bounded piece of the work; true when the next can be done at once. */
  step(): boolean {
    if (this.#readingCount > 0) return false;
    if (this.#group !== null) return this.#settle(this.#group);
    if (this.#read.length > 0) return this.#write();
    if (this.#left.length === 0 || this.#hasFailed) return this.#end();
    return this.#readSome();
  }

  #end(): boolean {
    this.#victim!.isPinned = false;
    this.#victim = null;
    this.#left = [];
    return false;
  }

  #readSome(): boolean {
    const { files, sizes } = this.#parts;
    const victim = this.#victim!;
    let bytes = 0;
    try {
      while (this.#left.length > 0 && bytes < sizes.pageGroupBytes) {
        const page = this.#left.pop()!;
        if (!this.#isThere(page)) continue;
        const { offset, byteLength } = page.place;
        bytes += byteLength;
        this.#readingCount++;
        files.reader(victim).read(offset, byteLength, (result) => {
          this.#readingCount--;
          // A page that cannot be read stays where it is. Its queue will find out.
          const { bytes } = result;
          const isPage = bytes !== null && bytes.length === byteLength &&
            readU32(bytes, 0) === PAGE_MAGIC;
          if (isPage && this.#isThere(page)) this.#add(page, bytes);
          this.#parts.wake();
        });
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#readingCount--;
      this.#hasFailed = true;
    }
    return this.#readingCount === 0;
  }

  #add(page: Page, bytes: Uint8Array): void {
    if (this.#read.length === 0) this.#out.reset();
    this.#read.push({ page, offset: this.#out.byteCount });
    this.#out.all(bytes);
  }

  #isThere(page: Page): boolean {
    return page.state !== PAGE_GONE && page.place.file === this.#victim!.number;
  }

  #write(): boolean {
    const { segments } = this.#parts;
    const out = this.#out;
    const copies = this.#read;
    this.#read = [];
    const { generation } = segments;
    try {
      const { file, offset } = segments.append(out.bytes, out.byteCount);
      for (const copy of copies) copy.offset += offset;
      file.draftCount++;
      this.#group = { copies, file, ticket: segments.lastTicket, generation };
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#hasFailed = true;
    }
    segments.sync();
    return false;
  }

  #settle(group: Group): boolean {
    const { segments, log, pages } = this.#parts;
    const isVoid = group.generation !== segments.generation;
    if (!isVoid && group.ticket > segments.safeTicket) return false;
    this.#group = null;
    group.file.draftCount--;
    if (isVoid) this.#hasFailed = true;
    for (const { page, offset } of isVoid ? [] : group.copies) {
      if (!this.#isThere(page)) continue;
      const to = { file: group.file.number, offset };
      if (page.isLogged) log.batch.pageMoved(page.owner.queueId, page.place.first, to.file, offset);
      pages.move(page, to);
    }
    return true;
  }
}
