// All pages of a store and what they mean for the files they lie in: a page counts as the live records
// it holds. The pager enters pages, the page loader and purges take them out; snapshots and the page
// mover go through them.

import type { Page } from "../page.ts";
import { PAGE_GONE } from "../page.ts";
import type { DataFile, DataFiles } from "./data_files.ts";

/** The pages that lanes hold. */
export class PageSet {
  readonly #pages = new Set<Page>();
  readonly #files: DataFiles;
  readonly #emptied: (file: DataFile) => void;
  /** Messages in all pages. */
  messageCount = 0;

  /** `emptied` is told of each file that holds nothing alive any more. */
  constructor(files: DataFiles, emptied: (file: DataFile) => void) {
    this.#files = files;
    this.#emptied = emptied;
  }

  get count(): number {
    return this.#pages.size;
  }

  /** The pages as they are now, for whoever goes through them in several turns. */
  all(): Page[] {
    return [...this.#pages];
  }

  /** The pages in one file. */
  inFile(fileNumber: number): Page[] {
    const found: Page[] = [];
    for (const page of this.#pages) if (page.place.file === fileNumber) found.push(page);
    return found;
  }

  /** A lane holds the page from now on. */
  add(page: Page): void {
    this.#pages.add(page);
    this.messageCount += page.count;
    this.#enter(page);
  }

  /** The lane holds it no longer. */
  remove(page: Page): void {
    page.state = PAGE_GONE;
    this.#pages.delete(page);
    this.messageCount -= page.count;
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
    const file = this.#files.get(page.place.file);
    if (file === undefined) return;
    file.liveRecords += page.count;
    file.liveBytes += page.place.byteLength;
  }

  #leave(page: Page): void {
    const file = this.#files.get(page.place.file);
    if (file === undefined) return;
    file.liveRecords -= page.count;
    file.liveBytes -= page.place.byteLength;
    if (file.liveRecords === 0) this.#emptied(file);
  }
}
