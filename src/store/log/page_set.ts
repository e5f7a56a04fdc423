// All pages of a store and what they mean for the files they lie in: a page counts as the live records
// it holds. The pager enters pages, the page loader and purges take them out; snapshots and the page
// mover go through them.

import type { Page } from "../page.ts";
import { PAGE_GONE } from "../page.ts";
import type { DataFile, DataFiles } from "./data_files.ts";

/** The pages that lanes and retry queues hold. */
export class PageSet {
  /** By the file they lie in, so that no set gets so large that it takes long to grow. */
  readonly #byFile = new Map<number, Set<Page>>();
  readonly #files: DataFiles;
  readonly #emptied: (file: DataFile) => void;
  count = 0;
  /** Messages in all pages. */
  messageCount = 0;
  /** Pages of delayed messages: their queues do not count what they take of memory. */
  delayedPageCount = 0;

  /** `emptied` is told of each file that holds nothing alive any more. */
  constructor(files: DataFiles, emptied: (file: DataFile) => void) {
    this.#files = files;
    this.#emptied = emptied;
  }

  /** The pages one after the other; those that come or go meanwhile may be among them or not. */
  *all(): Generator<Page, undefined> {
    for (const pages of this.#byFile.values()) yield* pages;
  }

  /** The pages in one file. */
  inFile(fileNumber: number): Page[] {
    return [...this.#byFile.get(fileNumber) ?? []];
  }

  /** Its owner holds the page from now on. */
  add(page: Page): void {
    this.count++;
    this.messageCount += page.count;
    if (page.place.delays !== null) this.delayedPageCount++;
    this.#enter(page);
  }

  /** Its owner holds it no longer. */
  remove(page: Page): void {
    page.state = PAGE_GONE;
    this.count--;
    this.messageCount -= page.count;
    if (page.place.delays !== null) this.delayedPageCount--;
    this.#leave(page);
  }

  /** The page lies elsewhere. */
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
