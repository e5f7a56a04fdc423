// PageLoader refuses a page that checks and is still not the one that its place promises.

import { assertEquals } from "@std/assert";
import { ByteWriter } from "../../../../src/lib/byte_writer.ts";
import { DiskError } from "../../../../src/store/file_system.ts";
import { Arena } from "../../../../src/store/memory/arena.ts";
import { DataFile, type DataFiles } from "../../../../src/store/folder/data_files.ts";
import { STATE_DELAYED, STATE_READY } from "../../../../src/store/format/format.ts";
import { Holdings } from "../../../../src/store/live/holdings.ts";
import { PageLoader, type PageLoaderParts } from "../../../../src/store/pages/page_loader.ts";
import { PageWriter } from "../../../../src/store/pages/page_writer.ts";
import {
  emptyPagedMessage,
  type LoadedMessages,
  Page,
  PAGE_GONE,
  PAGE_LOADING,
  PAGE_STORED,
  type PageOwner,
} from "../../../../src/store/page.ts";
import { emptyView } from "../../../../src/store/views.ts";

const SEED = 3;
const QUEUE_ID = 5;

/** A page with messages at these positions. */
function pageOf(positions: readonly number[], delayNumber = 0, queueId = QUEUE_ID): Uint8Array {
  const writer = new PageWriter(SEED);
  writer.begin();
  const view = { ...emptyView(), bytes: Uint8Array.of(0, 1, 113), addressEnd: 3, flags: 1 };
  for (const position of positions) {
    writer.add({ ...emptyPagedMessage(), position, delayNumber, dueMs: 9000 }, view);
  }
  const out = new ByteWriter();
  writer.finish(queueId, out);
  return out.bytes.slice(0, out.byteCount);
}

/** What is wrong with `bytes` where a page of three messages from 10 to 12 is to be. */
function problemOf(bytes: Uint8Array): string {
  const arena = new Arena();
  const problems: string[] = [];
  const files = {
    get: () => ({ name: "segment-1" }),
    reader: () => ({
      read: (_offset: number, _length: number, done: (result: object) => void) =>
        done({ bytes, error: null }),
    }),
  };
  const loader = new PageLoader({
    arena,
    files: files as unknown as DataFiles,
    seed: SEED,
    wake() {},
    failed: (_what, error) => problems.push(error.message),
  } as Partial<PageLoaderParts> as PageLoaderParts);
  const place = {
    ...{
      file: 1,
      offset: 64,
      byteLength: bytes.length,
      indexEnd: 0,
      first: 10,
      last: 12,
      count: 3,
    },
    ...{ bodyBytes: 0, expiryMinMs: Infinity, delays: null },
  };
  const held = { count: 3, bodyBytes: 0, hasTransient: false };
  const page = new Page({ queueId: QUEUE_ID } as PageOwner, place, held);
  loader.load(page, false);
  assertEquals([page.state, arena.recordCount], [PAGE_STORED, 0]);
  return problems.join();
}

Deno.test("PageLoader.load() takes no page with other messages than its place says, and keeps none of them", () => {
  const wrong = "page at byte 64 of segment-1: wrong rows";
  assertEquals(problemOf(pageOf([9, 10, 11])), wrong);
  assertEquals(problemOf(pageOf([11, 12, 13])), wrong);
  assertEquals(problemOf(pageOf([10, 11, 12], 7)), wrong);
  assertEquals(problemOf(pageOf([10, 12])), "page at byte 64 of segment-1: rows are missing");
});

Deno.test("PageLoader.load() takes no page of another queue with the same positions", () => {
  const wrong = "page at byte 64 of segment-1: of another queue";
  assertEquals(problemOf(pageOf([10, 11, 12], 0, QUEUE_ID + 1)), wrong);
});

Deno.test("PageLoader tells in a later turn of a page whose file cannot be opened, and reads it the next time", () => {
  const problems: string[] = [];
  const codes = ["EMFILE", "EMFILE", "EIO", "EIO"];
  let wakeCount = 0;
  const files = {
    get: () => ({ number: 1, name: "segment-1" }),
    reader() {
      throw new DiskError(codes[wakeCount]!, "segment-1");
    },
  };
  const loader = new PageLoader({
    files: files as unknown as DataFiles,
    seed: SEED,
    wake: () => wakeCount++,
    failed: (what: string, error: Error) => problems.push(`${what}: ${error.message}`),
  } as unknown as PageLoaderParts);
  const place = { file: 1, offset: 64, byteLength: 80, indexEnd: 0, first: 10, last: 12, count: 3 };
  const rest = { bodyBytes: 0, expiryMinMs: Infinity, delays: null };
  const held = { count: 3, bodyBytes: 0, hasTransient: false };
  const page = new Page({ queueId: QUEUE_ID } as PageOwner, { ...place, ...rest }, held);
  const told: string[] = [];
  for (let times = 1; times <= codes.length; times++) {
    page.waiter = { readArrived() {}, readFailed: ({ message }) => told.push(message) };
    loader.load(page, false);
    assertEquals([told.length, wakeCount, page.state], [times - 1, times, PAGE_LOADING]);
    loader.step();
    assertEquals([told.length, page.state], [times, PAGE_STORED]);
  }
  const texts = codes.map((code) => `page at byte 64 of segment-1: ${code}: segment-1`);
  assertEquals(told, texts);
  // Who waits is told each time. The log has each reason once.
  assertEquals(problems, [`read a page: ${texts[0]}`, `read a page: ${texts[2]}`]);
});

interface LoadedPage {
  page: Page;
  refs: number[];
  positions: number[];
  isAhead: boolean;
}

/** A loader over pages whose reads end when the test says so. */
function startLoader() {
  const arena = new Arena();
  const holdings = new Holdings();
  const reads: { offset: number; length: number; done: (result: object) => void }[] = [];
  const file = new DataFile("segment", 1);
  const unpaged: number[][] = [];
  const removed: Page[] = [];
  const problems: string[] = [];
  const loaded: LoadedPage[] = [];
  const files = {
    get: (number: number) => number === 1 ? file : undefined,
    reader: () => ({
      read: (offset: number, length: number, done: (result: object) => void) =>
        void reads.push({ offset, length, done }),
    }),
  };
  const counts = { wakes: 0 };
  const loader = new PageLoader({
    arena,
    holdings,
    files: files as unknown as DataFiles,
    log: { openBatch: 9, batch: { unpaged: (...said: number[]) => void unpaged.push(said) } },
    pages: { remove: (page: Page) => void removed.push(page) },
    seed: SEED,
    wake: () => counts.wakes++,
    failed: (_what: string, error: Error) => problems.push(error.message),
  } as unknown as PageLoaderParts);
  const owner = {
    queueId: QUEUE_ID,
    pagedIn(page: Page, messages: LoadedMessages, isAhead: boolean) {
      const refs = [...messages.refs.subarray(0, messages.count)];
      const positions = [...messages.positions.subarray(0, messages.count)];
      loaded.push({ page, refs, positions, isAhead });
    },
  } as unknown as PageOwner;
  const make = (positions: number[], { delayNumber = 0, isLogged = true, file = 1 } = {}) => {
    const bytes = pageOf(positions, delayNumber);
    const delays = delayNumber > 0 ? { dueMinMs: 9000, dueMaxMs: 9000 } : null;
    const { length: count } = positions;
    const ends = { first: positions[0]!, last: positions.at(-1)!, count: isLogged ? count : 0 };
    const lengths = { file, offset: 64, byteLength: bytes.length, indexEnd: 0, bodyBytes: 0 };
    const place = { ...lengths, ...ends, expiryMinMs: Infinity, delays };
    const held = { count, bodyBytes: 0, hasTransient: false };
    const page = new Page(owner, place as unknown as Page["place"], held);
    const told: string[] = [];
    page.waiter = {
      readArrived: () => void told.push("arrived"),
      readFailed: ({ message }) => void told.push(message),
    };
    return { page, bytes, told };
  };
  const parts = { arena, holdings, file, reads, unpaged, removed, problems, loaded, counts };
  return { ...parts, loader, make };
}

Deno.test("PageLoader.load() gives the messages of a page to its owner, with places of their own", () => {
  for (const isAhead of [true, false]) {
    const { loader, make, reads, arena, holdings, file, ...seen } = startLoader();
    const { page, bytes, told } = make([10, 11, 14]);
    loader.load(page, isAhead);
    loader.load(page, isAhead);
    assertEquals(reads.map(({ offset, length }) => [offset, length]), [[64, bytes.length]]);
    assertEquals([told, seen.counts.wakes], [[], 0]);
    reads[0]!.done({ bytes, error: null });
    assertEquals([told, seen.counts.wakes, page.waiter], [["arrived"], 1, null]);
    const { refs, positions } = seen.loaded[0]!;
    assertEquals([positions, seen.loaded[0]!.isAhead], [[10, 11, 14], isAhead]);
    assertEquals([seen.unpaged, file.unpagedBatch, seen.removed], [[[QUEUE_ID, 10]], 9, [page]]);
    assertEquals([arena.recordCount, holdings.count, file.liveRecords], [3, 3, 3]);
    let liveBytes = 0;
    for (const [index, ref] of refs.entries()) {
      const holding = holdings.find(ref, QUEUE_ID);
      assertEquals(holdings.positionOf(holding), positions[index]);
      assertEquals([holdings.stateOf(holding), holdings.fileOf(ref)], [STATE_READY, 1]);
      liveBytes += holdings.recordBytesOf(ref);
      const from = holdings.offsetOf(ref) - 64;
      assertEquals(from > 0 && from + holdings.recordBytesOf(ref) <= bytes.length, true);
    }
    assertEquals(file.liveBytes, liveBytes);
    assertEquals(seen.problems, []);
  }
});

Deno.test("PageLoader.load() enters no holdings for a page that the log does not know", () => {
  const { loader, make, reads, arena, holdings, file, unpaged } = startLoader();
  const { page, bytes } = make([10, 11], { isLogged: false });
  loader.load(page, false);
  reads[0]!.done({ bytes, error: null });
  assertEquals([arena.recordCount, holdings.count, file.liveRecords], [2, 0, 2]);
  assertEquals([unpaged, file.unpagedBatch], [[], 0]);
});

Deno.test("PageLoader.load() reads two pages of delayed messages at a time, and any number of others", () => {
  const { loader, make, reads, holdings, loaded } = startLoader();
  const delayed = [10, 20, 30, 40].map((first) => make([first, first + 1], { delayNumber: 7 }));
  for (const { page } of delayed) loader.load(page, true);
  assertEquals(reads.length, 2);
  for (const first of [50, 60, 70]) loader.load(make([first]).page, false);
  assertEquals(reads.length, 5);
  reads[1]!.done({ bytes: delayed[1]!.bytes, error: null });
  assertEquals([reads.length, loaded[0]!.positions, loaded[0]!.isAhead], [6, [20, 21], false]);
  const holding = holdings.find(loaded[0]!.refs[0]!, QUEUE_ID);
  assertEquals([holdings.stateOf(holding), holdings.dueMsOf(holding)], [STATE_DELAYED, 9000]);
  assertEquals(holdings.delayNumberOf(holding), 7);
  // A page that cannot be read makes way as well.
  reads[0]!.done({ bytes: null, error: new DiskError("EIO", "segment-1") });
  assertEquals([reads.length, delayed[0]!.page.state], [7, PAGE_STORED]);
  for (const index of [5, 6]) {
    reads[index]!.done({ bytes: delayed[index - 3]!.bytes, error: null });
  }
  assertEquals([reads.length, loaded.map(({ positions }) => positions[0])], [7, [20, 30, 40]]);
});

Deno.test("PageLoader leaves a page alone that is gone when its bytes arrive, or after its end", () => {
  for (const isRead of [true, false]) {
    const { loader, make, reads, arena, loaded, problems } = startLoader();
    const { page, bytes, told } = make([10, 11]);
    loader.load(page, false);
    page.state = PAGE_GONE;
    const error = new DiskError("EIO", "segment-1");
    reads[0]!.done(isRead ? { bytes, error: null } : { bytes: null, error });
    assertEquals([arena.recordCount, loaded, problems, told], [0, [], [], ["arrived"]]);
    loader.load(page, false);
    assertEquals(reads.length, 1);
  }
  const { loader, make, reads, arena, counts } = startLoader();
  const { page, bytes, told } = make([10, 11]);
  loader.load(page, false);
  loader.close();
  reads[0]!.done({ bytes, error: null });
  assertEquals([arena.recordCount, told, counts.wakes], [0, [], 0]);
});

Deno.test("PageLoader says in a later turn that a file is missing, and that a page is cut short", () => {
  const { loader, make, reads, problems, counts } = startLoader();
  const missing = make([10, 11], { file: 7 });
  loader.load(missing.page, false);
  assertEquals([missing.told, counts.wakes], [[], 1]);
  loader.step();
  const text = "page at byte 64 of data file 7: data file 7 is missing";
  assertEquals([missing.told, problems], [[text], [text]]);
  const short = make([10, 11]);
  loader.load(short.page, false);
  reads[0]!.done({ bytes: short.bytes.subarray(1), error: null });
  assertEquals(short.told[0]!.endsWith(": cut short"), true);
});

Deno.test("PageLoader takes in a page with more messages than most, and a small one behind it", () => {
  const { loader, make, reads, loaded } = startLoader();
  const large = Array.from({ length: 1025 }, (_, index) => index + 1);
  for (const positions of [[5, 6], large, [8]]) {
    const { page, bytes } = make(positions);
    loader.load(page, false);
    reads.at(-1)!.done({ bytes, error: null });
    assertEquals(loaded.at(-1)!.positions, positions);
  }
});
