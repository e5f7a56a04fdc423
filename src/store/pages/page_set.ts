// All pages of a store, and the live records that they mean for their files: each message of a page
// counts as one. The pager enters pages; the page loader and purges take them out. Snapshots and
// the page mover go through them.

import type { Page } from "../page.ts";
import { PAGE_GONE } from "../page.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";

/** The pages that lanes and retry queues hold. */
export class PageSet {
  /** Pages by the number of their file, so that no set gets so large that growing it takes long. */
  readonly #byFile = new Map<number, Set<Page>>();
  readonly #files: DataFiles;
  readonly #emptied: (file: DataFile) => void;
  count = 0;
  /** Messages in all pages. */
  messageCount = 0;
  /** Pages of delayed messages. Their queues do not count the memory of these pages. */
  delayedPageCount = 0;

  /** `emptied` is called for each file in which nothing is alive any more. */
  constructor(files: DataFiles, emptied: (file: DataFile) => void) {
    this.#files = files;
    this.#emptied = emptied;
  }

  /**
   * Returns the pages one after the other. Those that come or go meanwhile may be among them or
   * not.
   */
  *all(): Generator<Page, undefined> {
    for (const pages of this.#byFile.values()) yield* pages;
  }

  /** Returns the pages in one file. */
  inFile(fileNumber: number): Page[] {
    return [...this.#byFile.get(fileNumber) ?? []];
  }

  /** Adds a page that its owner holds from now on. */
  add(page: Page): void {
    this.count++;
    this.messageCount += page.count;
    if (page.place.delays !== null) this.delayedPageCount++;
    this.#enter(page);
  }

  /** Removes a page that its owner holds no longer. */
  remove(page: Page): void {
    page.state = PAGE_GONE;
    this.count--;
    this.messageCount -= page.count;
    if (page.place.delays !== null) this.delayedPageCount--;
    this.#leave(page);
  }

  /** Changes the place of a page. */
  move(page: Page, to: { file: number; offset: number }): void {
    this.#leave(page);
    page.place.file = to.file;
    page.place.offset = to.offset;
    this.#enter(page);
  }

  #enter(page: Page): void {
    const { file: fileNumber } = page.place;
    let pages = this.#byFile.get(fileNumber);
    if (pages === undefined) this.#byFile.set(fileNumber, pages = new Set());
    pages.add(page);
    const file = this.#files.get(fileNumber);
    if (file === undefined) return;
    file.liveRecords += page.count;
    file.liveBytes += page.place.byteLength;
  }

  #leave(page: Page): void {
    const { file: fileNumber } = page.place;
    const pages = this.#byFile.get(fileNumber)!;
    pages.delete(page);
    if (pages.size === 0) this.#byFile.delete(fileNumber);
    const file = this.#files.get(fileNumber);
    if (file === undefined) return;
    file.liveRecords -= page.count;
    file.liveBytes -= page.place.byteLength;
    if (file.liveRecords === 0) this.#emptied(file);
  }
}
