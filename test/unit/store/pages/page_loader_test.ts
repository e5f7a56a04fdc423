// PageLoader refuses a page that checks and is still not the one that its place promises.

import { assertEquals } from "@std/assert";
import { ByteWriter } from "../../../../src/lib/byte_writer.ts";
import { DiskError } from "../../../../src/store/file_system.ts";
import { Arena } from "../../../../src/store/memory/arena.ts";
import type { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { PageLoader, type PageLoaderParts } from "../../../../src/store/pages/page_loader.ts";
import { PageWriter } from "../../../../src/store/pages/page_writer.ts";
import {
  emptyPagedMessage,
  Page,
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
  let wakeCount = 0;
  const files = {
    get: () => ({ number: 1, name: "segment-1" }),
    reader() {
      throw new DiskError("EMFILE", "segment-1");
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
  for (let times = 1; times <= 2; times++) {
    page.waiter = { readArrived() {}, readFailed: ({ message }) => told.push(message) };
    loader.load(page, false);
    assertEquals([told.length, wakeCount, page.state], [times - 1, times, PAGE_LOADING]);
    loader.step();
    assertEquals([told.length, page.state], [times, PAGE_STORED]);
  }
  const text = "page at byte 64 of segment-1: EMFILE: segment-1";
  assertEquals([told[0], problems[0]], [text, `read a page: ${text}`]);
});
