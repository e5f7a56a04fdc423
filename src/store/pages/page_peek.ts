// Looks into pages for an operator who lists delayed messages: it shows each message of a page and
// leaves the page where it is. Usually the index is enough. A page that cannot be read shows nothing;
// the page loader reports it when its messages are needed.

import { DiskError } from "../file_system.ts";
import { type Page, PAGE_GONE, type PageVisitor, type PeekedMessage } from "../page.ts";
import { VarintError } from "../varint.ts";
import type { DataFiles } from "../folder/data_files.ts";
import { PageFormatError, PageReader } from "./page_reader.ts";

type Peeked = { -readonly [Key in keyof PeekedMessage]: PeekedMessage[Key] };

/** Shows what is in pages. */
export class PagePeek {
  readonly #files: DataFiles;
  readonly #reader: PageReader;
  readonly #message: Peeked = {
    entry: 0,
    bodyBytes: 0,
    arrivalMs: 0,
    endMs: Infinity,
    dueMs: 0,
    delayNumber: 0,
    bytes: null,
    addressStart: 0,
    addressEnd: 0,
  };
  #isClosed = false;

  constructor(files: DataFiles, seed: number) {
    this.#files = files;
    this.#reader = new PageReader(seed);
  }

  /** See DelayedPages. */
  peek(page: Page, visitor: PageVisitor): void {
    const { file: fileNumber, offset, byteLength, indexEnd } = page.place;
    const file = this.#files.get(fileNumber);
    if (isGone(page) || file === undefined) return visitor.ended();
    const wanted = visitor.wantsAddresses ? byteLength : indexEnd;
    try {
      this.#files.reader(file).read(offset, wanted, ({ bytes }) => {
        if (this.#isClosed) return visitor.ended();
        const { file, offset: newOffset } = page.place;
        const hasMoved = file !== fileNumber || newOffset !== offset;
        if (bytes === null && hasMoved) return this.peek(page, visitor);
        // The messages of a page that has gone meanwhile are somewhere else.
        if (bytes !== null && !isGone(page)) this.#show(page, bytes, visitor);
        visitor.ended();
      });
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      visitor.ended();
    }
  }

  /** Ends all looks. */
  close(): void {
    this.#isClosed = true;
  }

  #show(page: Page, bytes: Uint8Array, visitor: PageVisitor): void {
    const reader = this.#reader;
    const { row } = reader;
    const message = this.#message;
    try {
      reader.open(bytes);
      if (reader.queueId !== page.owner.queueId) return;
      message.bytes = visitor.wantsAddresses && this.#hasRecords() ? bytes : null;
      while (reader.nextCounted(page.hasTransient)) {
        message.entry = row.entry;
        message.bodyBytes = row.bodyBytes;
        message.arrivalMs = row.arrivalMs;
        message.endMs = row.endMs;
        message.dueMs = row.dueMs;
        message.delayNumber = row.delayNumber;
        message.addressStart = reader.addressAt;
        message.addressEnd = reader.propertiesAt;
        visitor.visit(message);
      }
    } catch (error) {
      if (!(error instanceof PageFormatError || error instanceof VarintError)) throw error;
    }
  }

  #hasRecords(): boolean {
    try {
      this.#reader.checkRecords();
      return true;
    } catch (error) {
      if (!(error instanceof PageFormatError)) throw error;
      return false;
    }
  }
}

function isGone(page: Page): boolean {
  return page.state === PAGE_GONE;
}
