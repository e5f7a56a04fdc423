// Looks into pages whose file goes away meanwhile.

import { assertEquals } from "@std/assert";
import { DiskError, type ReadResult } from "../../../../src/store/file_system.ts";
import { type Page, PAGE_GONE, PAGE_STORED } from "../../../../src/store/page.ts";
import type { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { PagePeek } from "../../../../src/store/pages/page_peek.ts";

type Done = (result: ReadResult) => void;

function scene() {
  const reads: { file: number; offset: number; byteLength: number; done: Done }[] = [];
  let canOpen = true;
  const files = {
    get: (number: number) => ({ number }),
    reader: ({ number: file }: { number: number }) => {
      if (!canOpen) throw new DiskError("EIO", "segment");
      return {
        read: (offset: number, byteLength: number, done: Done) =>
          void reads.push({ file, offset, byteLength, done }),
      };
    },
  } as unknown as DataFiles;
  const place = { file: 3, offset: 64, byteLength: 500, indexEnd: 90 };
  const page = { state: PAGE_STORED, place } as unknown as Page;
  let ended = 0;
  const visitor = { wantsAddresses: false, visit: () => {}, ended: () => void ended++ };
  return {
    reads,
    page,
    visitor,
    peek: new PagePeek(files, 1),
    endedCount: () => ended,
    refuse: () => void (canOpen = false),
  };
}

const FAILED: ReadResult = { bytes: null, error: new DiskError("EIO", "segment") };

Deno.test("PagePeek reads the index, or all of a page, and again where the page has moved to", () => {
  const { reads, page, visitor, peek, endedCount } = scene();
  peek.peek(page, visitor);
  Object.assign(page.place, { file: 4, offset: 8 });
  reads[0]!.done(FAILED);
  assertEquals(endedCount(), 0);
  reads[1]!.done(FAILED);
  peek.peek(page, { ...visitor, wantsAddresses: true });
  assertEquals(reads.map(({ file, offset, byteLength }) => [file, offset, byteLength]), [
    [3, 64, 90],
    [4, 8, 90],
    [4, 8, 500],
  ]);
  assertEquals(endedCount(), 1);
});

Deno.test("PagePeek ends at once for a page that has gone or cannot be opened, and when it is closed", () => {
  const { reads, page, visitor, peek, endedCount, refuse } = scene();
  peek.peek(page, visitor);
  peek.close();
  reads[0]!.done({ bytes: new Uint8Array(90), error: null });
  assertEquals(endedCount(), 1);
  refuse();
  peek.peek(page, visitor);
  page.state = PAGE_GONE;
  peek.peek(page, visitor);
  assertEquals([endedCount(), reads.length], [3, 1]);
});
