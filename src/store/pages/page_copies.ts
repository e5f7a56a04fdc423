// The pages in a segment file, for the FileMover that empties it. Their bytes are copied as they are,
// and the log is told their new places.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { readU32 } from "../../lib/bytes.ts";
import { type Page, PAGE_GONE } from "../page.ts";
import {
  type Copies,
  type CopySource,
  GATHERED_ALL,
  GATHERED_SOME,
} from "../folder/copy_source.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { PAGE_MAGIC } from "../format/format.ts";
import type { PageSet } from "./page_set.ts";
import type { StoreSizes } from "../folder/sizes.ts";

/** A copied page. */
export interface PageCopy {
  readonly page: Page;
  /** Where the copy begins among the copies. */
  readonly at: number;
}

/** The parts of {@link PageCopies}. */
export interface PageCopiesParts {
  files: DataFiles;
  log: CommitLog;
  pages: PageSet;
  sizes: StoreSizes;
  wake: () => void;
}

/** Copies the pages of a file. */
export class PageCopies implements CopySource<PageCopy> {
  readonly #parts: PageCopiesParts;
  readonly #out = new ByteWriter();
  #victim: DataFile | null = null;
  #left: Page[] = [];
  /** Pages whose bytes are in `#out`. */
  #read: PageCopy[] = [];
  #readingCount = 0;

  constructor(parts: PageCopiesParts) {
    this.#parts = parts;
  }

  get isReading(): boolean {
    return this.#readingCount > 0;
  }

  begin(victim: DataFile): boolean {
    this.#victim = victim;
    this.#left = this.#parts.pages.inFile(victim.number);
    return this.#left.length > 0;
  }

  gather(): number {
    if (this.#left.length === 0) return GATHERED_ALL;
    this.#read = [];
    this.#out.reset();
    let bytes = 0;
    while (this.#left.length > 0 && bytes < this.#parts.sizes.pageGroupBytes) {
      const page = this.#left.pop()!;
      if (!this.#isThere(page)) continue;
      bytes += page.place.byteLength;
      this.#request(page);
    }
    return GATHERED_SOME;
  }

  #request(page: Page): void {
    const { files, wake } = this.#parts;
    const { offset, byteLength } = page.place;
    const reader = files.reader(this.#victim!);
    this.#readingCount++;
    reader.read(offset, byteLength, ({ bytes }) => {
      this.#readingCount--;
      // A page that cannot be read stays where it is. Its queue will find out.
      const isPage = bytes !== null && bytes.length === byteLength &&
        readU32(bytes, 0) === PAGE_MAGIC;
      if (isPage && this.#isThere(page)) this.#add(page, bytes);
      wake();
    });
  }

  #add(page: Page, bytes: Uint8Array): void {
    this.#read.push({ page, at: this.#out.byteCount });
    this.#out.all(bytes);
  }

  #isThere(page: Page): boolean {
    return page.state !== PAGE_GONE && page.place.file === this.#victim!.number;
  }

  copy(): Copies<PageCopy> {
    const { bytes, byteCount } = this.#out;
    return { copies: this.#read, bytes, byteCount };
  }

  moved({ page, at }: PageCopy, file: DataFile, offset: number): void {
    if (!this.#isThere(page)) return;
    const { log, pages } = this.#parts;
    const { first } = page.place;
    const to = { file: file.number, offset: offset + at };
    if (page.isLogged) log.batch.pageMoved(page.owner.queueId, first, to.file, to.offset);
    pages.move(page, to);
  }
}
