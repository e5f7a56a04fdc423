// Recovered: what entries of snapshots and logs come to that tell of the same thing twice.

import { assertEquals, assertThrows } from "@std/assert";
import { batchAt } from "../../../../src/store/format/batch_reader.ts";
import { BatchWriter } from "../../../../src/store/format/batch_writer.ts";
import { ENTRY_END, ENTRY_OPTIONAL } from "../../../../src/store/format/format.ts";
import { StoreFormatError } from "../../../../src/store/folder/manifest.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { Recovered } from "../../../../src/store/recovery/recovery.ts";
import type { PagePlace } from "../../../../src/store/page.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const SEED = 1;

function pageOf(file: number, last: number): PagePlace {
  const place = { file, offset: 0, byteLength: 100, indexEnd: 50, bodyBytes: 10 };
  return { ...place, first: 71, last, count: last - 70, expiryMinMs: Infinity, delays: null };
}

/** Applies batches that a log or snapshot has written. */
function recovering() {
  const files = new DataFiles(new MemoryDisk());
  const recovered = new Recovered(files, SEED);
  const [snapshot, log] = [files.create("snapshot").file, files.create("log").file];
  const apply = (number: number, isLog: boolean, write: (writer: BatchWriter) => void): void => {
    const writer = new BatchWriter(SEED);
    writer.open(new Uint8Array(1000));
    write(writer);
    writer.finish(number, 0);
    const { bytes } = writer.out;
    recovered.apply(bytes, batchAt(bytes, 0, SEED)!, isLog ? log : snapshot);
  };
  const pages = () =>
    [...recovered.queue(2).pages.values()].map(({ file, count }) => [file, count]);
  return { recovered, apply, pages };
}

const GONE = "page of 2 messages: the file is missing";

Deno.test("a page that begins where another one began is not taken for it in the second half of a snapshot", () => {
  const { recovered, apply, pages } = recovering();
  // The snapshot: two messages in a page; when it tells of pages again, the first is in another page.
  apply(10, false, (writer) => writer.paged(2, pageOf(5, 72), []));
  apply(20, false, (writer) => writer.paged(2, pageOf(6, 71), []));
  // The log: how that came about. The first page is read.
  apply(12, true, (writer) => writer.unpaged(2, 71));
  assertEquals([pages(), recovered.damages.map(({ what }) => what)], [[], [GONE]]);
  apply(15, true, (writer) => writer.paged(2, pageOf(6, 71), [0, 1]));
  apply(25, true, () => {});
  assertEquals(pages(), [[6, 1]]);
});

Deno.test("a page that came and went while a snapshot was written is read although a later one is told of", () => {
  const { recovered, apply, pages } = recovering();
  apply(20, false, (writer) => writer.paged(2, pageOf(6, 71), []));
  apply(11, true, (writer) => writer.paged(2, pageOf(5, 72), [0, 2]));
  apply(12, true, (writer) => writer.unpaged(2, 71));
  assertEquals([pages(), recovered.damages.map(({ what }) => what)], [[], [GONE]]);
  apply(15, true, (writer) => writer.paged(2, pageOf(6, 71), [0, 1]));
  apply(25, true, () => {});
  assertEquals(pages(), [[6, 1]]);
});

Deno.test("a page that only the second half of a snapshot has is there from then on", () => {
  const { recovered, apply, pages } = recovering();
  apply(20, false, (writer) => writer.paged(2, pageOf(5, 72), []));
  apply(12, true, () => {});
  assertEquals(pages(), []);
  apply(21, true, (writer) => writer.unpaged(2, 71));
  assertEquals(recovered.damages.map(({ what }) => what), [GONE]);
});

Deno.test("pages that no batch of the log follows are there at the end", () => {
  const { recovered, apply, pages } = recovering();
  apply(20, false, (writer) => {
    writer.defined("queue", "q", { id: 2 });
    writer.paged(2, pageOf(5, 72), []);
  });
  recovered.finish();
  assertEquals(pages(), [[5, 2]]);
});

Deno.test("an entry that this version does not know is refused, with its file and batch", () => {
  for (const isLog of [false, true]) {
    const { apply } = recovering();
    const error = assertThrows(
      () => apply(12, isLog, (writer) => writer.mark(ENTRY_OPTIONAL - 1)),
      StoreFormatError,
    );
    const file = isLog ? "log-00000002" : "snapshot-00000001";
    const what = `batch 12 of ${file} cannot be read (unknown entry type 127)`;
    assertEquals(error.message, `${what}: use the version that wrote it, or another folder`);
  }
});

Deno.test("an entry that this version may ignore changes nothing", () => {
  const { recovered, apply } = recovering();
  apply(12, true, (writer) => {
    writer.mark(ENTRY_OPTIONAL);
    // Its length and its content: what would end a snapshot elsewhere.
    writer.mark(1);
    writer.mark(ENTRY_END);
    writer.lastPosition(2, 5);
  });
  assertEquals([recovered.isSnapshotWhole, recovered.queue(2).lastPosition], [false, 5]);
});
