// Reads pages back: their messages get body references again, and go to the owner of the page. A
// lane asks for the page that its head has reached, for those behind it and for those in which
// messages expire. A retry queue asks for pages in which messages wake. Both are told in a later
// turn. A page with a wrong checksum stays where it is, and its queue is told why, each time it asks.
// The log says so once.

import type { Arena } from "../memory/arena.ts";
import { DiskError } from "../file_system.ts";
import { type LoadedMessages, type Page, PAGE_GONE, PAGE_LOADING, PAGE_STORED } from "../page.ts";
import { type MessageSource, RECORD_PERSISTENT } from "../port.ts";
import { VarintError } from "../varint.ts";
import { emptySource } from "../views.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { DataFiles } from "../folder/data_files.ts";
import { STATE_DELAYED, STATE_READY } from "../format/format.ts";
import type { Holdings } from "../live/holdings.ts";
import { PageFormatError, PageReader, type PageRow } from "./page_reader.ts";
import type { PageSet } from "./page_set.ts";

// The most pages of delayed messages that are read at the same time. After a long time out of use all
// are due at once. They must not come faster than the messages that they make ready can be written to
// pages again.
const DELAYED_READS_MAX = 2;
// Most pages have no more messages than this.
const ROOM = 1024;

/** The parts of a {@link PageLoader}. */
export interface PageLoaderParts {
  arena: Arena;
  holdings: Holdings;
  log: CommitLog;
  files: DataFiles;
  pages: PageSet;
  seed: number;
  /** Called when something has been read and a turn should follow. */
  wake: () => void;
  failed: (what: string, error: Error) => void;
}

/** Reads pages into memory. */
export class PageLoader {
  readonly #parts: PageLoaderParts;
  readonly #reader: PageReader;
  readonly #message: MessageSource = emptySource();
  /** Pages whose file could not be opened. Their owners are told in a later turn. */
  #refused: { page: Page; error: Error }[] = [];
  /** Pages of delayed messages that wait until others have been read. */
  readonly #waiting: Page[] = [];
  #delayedReads = 0;
  /** What the log says about pages that cannot be read. They are tried again. */
  readonly #reported = new WeakMap<Page, string>();
  #isClosed = false;
  readonly #taken = new Taken();

  constructor(parts: PageLoaderParts) {
    this.#parts = parts;
    this.#reader = new PageReader(parts.seed);
  }

  /** Starts to read a page, unless it is being read already; see LanePages. */
  load(page: Page, isAhead: boolean): void {
    if (page.state !== PAGE_STORED) return;
    page.state = PAGE_LOADING;
    if (page.place.delays === null) return this.#read(page, isAhead);
    this.#waiting.push(page);
    this.#readWaiting();
  }

  #readWaiting(): void {
    while (this.#delayedReads < DELAYED_READS_MAX && this.#waiting.length > 0) {
      const page = this.#waiting.shift()!;
      this.#delayedReads++;
      this.#read(page, false);
    }
  }

  #read(page: Page, isAhead: boolean): void {
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

  /** Tells owners about pages that could not be opened. To be called once a turn. */
  step(): void {
    if (this.#refused.length === 0) return;
    for (const { page, error } of this.#refused.splice(0)) this.#refuse(page, error);
  }

  /** Ends the loader. Pages that are being read are not wanted any more. */
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
    this.#ended(page)?.readArrived();
  }

  #refuse(page: Page, error: Error): void {
    const waiter = this.#ended(page);
    if (page.state === PAGE_GONE) return waiter?.readArrived();
    page.state = PAGE_STORED;
    const { offset, file } = page.place;
    const name = this.#parts.files.get(file)?.name ?? `data file ${file}`;
    const reason = new Error(`page at byte ${offset} of ${name}: ${error.message}`);
    this.#report(page, reason);
    waiter?.readFailed(reason);
  }

  #report(page: Page, reason: Error): void {
    if (this.#reported.get(page) === reason.message) return;
    this.#reported.set(page, reason.message);
    this.#parts.failed("read a page", reason);
  }

  // Ends a read, whatever its result, and returns who waits for it.
  #ended(page: Page): Page["waiter"] {
    if (page.place.delays !== null) {
      this.#delayedReads--;
      this.#readWaiting();
    }
    const { waiter } = page;
    page.waiter = null;
    return waiter;
  }

  #restore(page: Page, bytes: Uint8Array, isAhead: boolean): void {
    const { files, log, pages } = this.#parts;
    const { place, owner } = page;
    this.#take(page, bytes);
    this.#enter(page);
    // From now on, entries about these messages concern single messages.
    if (page.isLogged) {
      log.batch.unpaged(owner.queueId, place.first);
      files.get(place.file)!.unpagedBatch = log.openBatch;
    }
    owner.pagedIn(page, this.#taken, isAhead);
    pages.remove(page);
  }

  // Takes in every message of the page, or none of them. @throws PageFormatError, VarintError
  #take(page: Page, bytes: Uint8Array): void {
    const { arena } = this.#parts;
    const { first, last, byteLength, delays } = page.place;
    const taken = this.#taken;
    taken.reset(page.count);
    const reader = this.#reader;
    const { row } = reader;
    try {
      if (bytes.length < byteLength) throw new PageFormatError("cut short");
      reader.open(bytes);
      if (reader.queueId !== page.owner.queueId) throw new PageFormatError("of another queue");
      reader.checkRecords();
      while (reader.nextCounted(page.hasTransient)) {
        const isInside = row.position >= first && row.position <= last;
        const isOfKind = row.delayNumber > 0 === (delays !== null);
        if (!isInside || !isOfKind || taken.count === page.count) {
          throw new PageFormatError("wrong rows");
        }
        taken.add(arena.append(this.#messageOf(bytes), 1), row);
      }
      if (taken.count !== page.count) throw new PageFormatError("rows are missing");
    } catch (error) {
      for (let i = 0; i < taken.count; i++) arena.release(taken.refs[i]!);
      throw error;
    }
  }

  // Returns the message of the row.
  #messageOf(bytes: Uint8Array): MessageSource {
    const { row, addressAt, propertiesAt, bodyAt } = this.#reader;
    const message = this.#message;
    message.address = bytes;
    message.addressStart = addressAt;
    message.addressEnd = propertiesAt;
    message.properties = bytes;
    message.propertiesStart = propertiesAt;
    message.propertiesEnd = bodyAt;
    message.body = bytes;
    message.bodyStart = bodyAt;
    message.bodyEnd = bodyAt + row.bodyBytes;
    message.flags = row.flags;
    message.priority = row.priority;
    message.arrivalMs = row.arrivalMs;
    message.expiryMs = row.expiryMs;
    return message;
  }

  // Enters the records as single ones, with their places in the page.
  #enter(page: Page): void {
    const { holdings, files } = this.#parts;
    const { file: fileNumber, offset } = page.place;
    const { queueId } = page.owner;
    const taken = this.#taken;
    const file = files.get(fileNumber)!;
    for (let i = 0; i < taken.count; i++) {
      const ref = taken.refs[i]!;
      const recordBytes = taken.recordBytes[i]!;
      holdings.place(ref, fileNumber, offset + taken.recordAt[i]!, recordBytes);
      file.liveRecords++;
      file.liveBytes += recordBytes;
      if (!page.isLogged || (taken.flags[i]! & RECORD_PERSISTENT) === 0) continue;
      const holding = holdings.add(ref, queueId, taken.positions[i]!);
      const number = taken.delayNumbers[i]!;
      holdings.setState(holding, number > 0 ? STATE_DELAYED : STATE_READY, taken.entries[i]!);
      if (number > 0) holdings.setDelay(holding, taken.duesMs[i]!, number);
    }
  }
}

/** The messages of a page while the page is taken apart, in order. */
class Taken implements LoadedMessages {
  count = 0;
  refs!: Uint32Array;
  positions!: Float64Array;
  entries!: Uint32Array;
  bodyBytes!: Uint32Array;
  endsMs!: Float64Array;
  duesMs!: Float64Array;
  delayNumbers!: Float64Array;
  recordAt!: Uint32Array;
  recordBytes!: Uint32Array;
  flags!: Uint8Array;

  constructor() {
    this.#makeRoom(ROOM);
  }

  #makeRoom(capacity: number): void {
    this.refs = new Uint32Array(capacity);
    this.positions = new Float64Array(capacity);
    this.entries = new Uint32Array(capacity);
    this.bodyBytes = new Uint32Array(capacity);
    this.endsMs = new Float64Array(capacity);
    this.duesMs = new Float64Array(capacity);
    this.delayNumbers = new Float64Array(capacity);
    this.recordAt = new Uint32Array(capacity);
    this.recordBytes = new Uint32Array(capacity);
    this.flags = new Uint8Array(capacity);
  }

  /** Starts over, with room for `capacity` messages. */
  reset(capacity: number): void {
    this.count = 0;
    if (capacity > this.refs.length) this.#makeRoom(capacity);
  }

  add(ref: number, row: PageRow): void {
    const index = this.count++;
    this.refs[index] = ref;
    this.positions[index] = row.position;
    this.entries[index] = row.entry;
    this.bodyBytes[index] = row.bodyBytes;
    this.endsMs[index] = row.endMs;
    this.duesMs[index] = row.dueMs;
    this.delayNumbers[index] = row.delayNumber;
    this.recordAt[index] = row.recordAt;
    this.recordBytes[index] = row.recordBytes;
    this.flags[index] = row.flags;
  }
}
