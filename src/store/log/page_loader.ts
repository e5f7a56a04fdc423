// Reads pages back: its messages get body references again and the lane gets a chunk of them. A lane
// asks for the page its head has reached, for those behind it and for those in which something expires;
// it is told in a later turn. A page that does not check stays where it is, and its queue is told why.

import type { Arena } from "../arena.ts";
import type { ChunkPool, LaneChunk } from "../lane_chunk.ts";
import { DiskError } from "../file_system.ts";
import { type Page, PAGE_GONE, PAGE_LOADING, PAGE_STORED } from "../page.ts";
import { type MessageSource, RECORD_PERSISTENT } from "../port.ts";
import { VarintError } from "../varint.ts";
import { emptySource } from "../views.ts";
import type { CommitLog } from "./commit_log.ts";
import type { DataFiles } from "./data_files.ts";
import { STATE_READY } from "./format.ts";
import type { Holdings } from "./holdings.ts";
import { PageFormatError, PageReader, type PageRow } from "./page_reader.ts";
import type { PageSet } from "./page_set.ts";

/** What a {@link PageLoader} is made of. */
export interface PageLoaderParts {
  arena: Arena;
  holdings: Holdings;
  log: CommitLog;
  files: DataFiles;
  pages: PageSet;
  chunks: ChunkPool;
  seed: number;
  /** Something has been read: a turn should follow. */
  wake: () => void;
  failed: (what: string, error: Error) => void;
}

/** Brings pages back into memory. */
export class PageLoader {
  readonly #parts: PageLoaderParts;
  readonly #reader: PageReader;
  readonly #message: MessageSource = emptySource();
  /** Pages whose file could not even be asked; their lanes are told in a later turn. */
  #refused: { page: Page; error: Error }[] = [];
  #isClosed = false;
  readonly #taken = new Taken();

  constructor(parts: PageLoaderParts) {
    this.#parts = parts;
    this.#reader = new PageReader(parts.seed);
  }

  /** Starts to read a page unless it is being read; see LanePages. */
  load(page: Page, isAhead: boolean): void {
    if (page.state !== PAGE_STORED) return;
    page.state = PAGE_LOADING;
    const { file: fileNumber, offset, byteLength } = page.place;
    const { files } = this.#parts;
    const file = files.get(fileNumber);
    try {
      if (file === undefined) throw new PageFormatError(`data file ${fileNumber} is missing`);
      files.reader(file).read(offset, byteLength, ({ bytes, error }) => {
        if (this.#isClosed) return;
        if (bytes === null) this.#refuse(page, error);
        else this.#arrived(page, bytes, isAhead);
        this.#parts.wake();
      });
    } catch (error) {
      if (!(error instanceof PageFormatError || error instanceof DiskError)) throw error;
      this.#refused.push({ page, error });
      this.#parts.wake();
    }
  }

  /** Tells what could not be told at once; called once a turn. */
  step(): void {
    if (this.#refused.length === 0) return;
    for (const { page, error } of this.#refused.splice(0)) this.#refuse(page, error);
  }

  /** What is being read is not wanted any more. */
  close(): void {
    this.#isClosed = true;
  }

  #arrived(page: Page, bytes: Uint8Array, isAhead: boolean): void {
    if (page.state !== PAGE_GONE) {
      try {
        this.#restore(page, bytes, isAhead);
      } catch (error) {
        if (!(error instanceof PageFormatError || error instanceof VarintError)) throw error;
        return this.#refuse(page, error);
      }
    }
    this.#takeWaiter(page)?.readArrived();
  }

  #refuse(page: Page, error: Error): void {
    const waiter = this.#takeWaiter(page);
    if (page.state === PAGE_GONE) return waiter?.readArrived();
    page.state = PAGE_STORED;
    const { offset, file } = page.place;
    const name = this.#parts.files.get(file)?.name ?? `data file ${file}`;
    const reason = new Error(`page at byte ${offset} of ${name}: ${error.message}`);
    this.#parts.failed("read a page", reason);
    waiter?.readFailed(reason);
  }

  #takeWaiter(page: Page): Page["waiter"] {
    const { waiter } = page;
    page.waiter = null;
    return waiter;
  }

  #restore(page: Page, bytes: Uint8Array, isAhead: boolean): void {
    const { chunks, files, log, pages } = this.#parts;
    const { place } = page;
    const chunk = chunks.takeUsed(place.first, place.last - place.first + 1);
    this.#fill(page, bytes, chunk);
    this.#enter(page, chunk);
    page.lane.pagedIn(page, chunk, isAhead);
    if (page.isLogged) {
      log.batch.unpaged(page.lane.queueId, place.first);
      files.get(place.file)!.unpagedBatch = log.openBatch;
    }
    pages.remove(page);
  }

  // Takes in every message of the page, or none. @throws PageFormatError, VarintError
  #fill(page: Page, bytes: Uint8Array, chunk: LaneChunk): void {
    const { arena, chunks } = this.#parts;
    const { first, last, byteLength } = page.place;
    const taken = this.#taken;
    taken.reset(page.count);
    const reader = this.#reader;
    const { row } = reader;
    try {
      if (bytes.length < byteLength) throw new PageFormatError("cut short");
      reader.open(bytes);
      reader.checkRecords();
      while (reader.next()) {
        if (!page.hasTransient && (row.flags & RECORD_PERSISTENT) === 0) continue;
        const isInside = row.position >= first && row.position <= last;
        if (!isInside || taken.count === page.count) throw new PageFormatError("wrong rows");
        const ref = arena.append(this.#messageOf(bytes), 1);
        taken.add(ref, row);
        const index = row.position - first;
        chunk.refs[index] = ref;
        chunk.entries[index] = row.entry;
        if (row.endMs !== Infinity) chunk.setExpiry(index, row.endMs);
      }
      if (taken.count !== page.count) throw new PageFormatError("rows are missing");
    } catch (error) {
      for (let i = 0; i < taken.count; i++) arena.release(taken.ref[i]!);
      chunks.give(chunk);
      throw error;
    }
  }

  // The message of the row; the parts of a record are the end of it.
  #messageOf(bytes: Uint8Array): MessageSource {
    const { row } = this.#reader;
    const message = this.#message;
    const bodyEnd = row.recordAt + row.recordBytes;
    const bodyStart = bodyEnd - row.bodyBytes;
    const propertiesStart = bodyStart - row.propertiesBytes;
    message.address = bytes;
    message.addressStart = propertiesStart - row.addressBytes;
    message.addressEnd = propertiesStart;
    message.properties = bytes;
    message.propertiesStart = propertiesStart;
    message.propertiesEnd = bodyStart;
    message.body = bytes;
    message.bodyStart = bodyStart;
    message.bodyEnd = bodyEnd;
    message.flags = row.flags;
    message.priority = row.priority;
    message.arrivalMs = row.arrivalMs;
    message.expiryMs = row.expiryMs;
    return message;
  }

  // The records have their place in the page from now on, each on its own.
  #enter(page: Page, chunk: LaneChunk): void {
    const { holdings, files } = this.#parts;
    const { file: fileNumber, offset, first } = page.place;
    const { queueId } = page.lane;
    const taken = this.#taken;
    const file = files.get(fileNumber)!;
    let index = 0;
    for (let i = 0; i < taken.count; i++, index++) {
      const ref = taken.ref[i]!;
      while (chunk.refs[index] !== ref) index++;
      const recordBytes = taken.recordBytes[i]!;
      holdings.place(ref, fileNumber, offset + taken.recordAt[i]!, recordBytes);
      file.liveRecords++;
      file.liveBytes += recordBytes;
      if (!page.isLogged || (taken.flags[i]! & RECORD_PERSISTENT) === 0) continue;
      const holding = holdings.add(ref, queueId, first + index);
      holdings.setState(holding, STATE_READY, chunk.entries[index]!);
    }
  }
}

/** The messages of a page while it is taken apart, in order. */
class Taken {
  count = 0;
  ref = new Uint32Array(1024);
  recordAt = new Uint32Array(1024);
  recordBytes = new Uint32Array(1024);
  flags = new Uint8Array(1024);

  /** Starts over, with room for `capacity` messages. */
  reset(capacity: number): void {
    this.count = 0;
    if (capacity <= this.ref.length) return;
    this.ref = new Uint32Array(capacity);
    this.recordAt = new Uint32Array(capacity);
    this.recordBytes = new Uint32Array(capacity);
    this.flags = new Uint8Array(capacity);
  }

  add(ref: number, row: PageRow): void {
    const index = this.count++;
    this.ref[index] = ref;
    this.recordAt[index] = row.recordAt;
    this.recordBytes[index] = row.recordBytes;
    this.flags[index] = row.flags;
  }
}
