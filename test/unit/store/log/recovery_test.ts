// Recovered: what entries of snapshots and logs come to that tell of the same thing twice.

import { assertEquals } from "@std/assert";
import { batchAt } from "../../../../src/store/log/batch_reader.ts";
import { BatchWriter } from "../../../../src/store/log/batch_writer.ts";
import { DataFiles } from "../../../../src/store/log/data_files.ts";
import { Recovered } from "../../../../src/store/log/recovery.ts";
import type { PagePlace } from "../../../../src/store/page.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const SEED = 1;

function pageOf(file: number, last: number): PagePlace {
  const place = { file, offset: 0, byteLength: 100, indexEnd: 50, bodyBytes: 10 };
  return { ...place, first: 71, last, count: last - 70, expiryMinMs: Infinity, delays: null };
}

Deno.test("a page that begins where another one began is not taken for it in the second half of a snapshot", () => {
  const files = new DataFiles(new MemoryDisk());
  const recovered = new Recovered(files, SEED);
  const { file } = files.create("log");
  const apply = (number: number, write: (writer: BatchWriter) => void): void => {
    const writer = new BatchWriter(SEED);
    writer.open(new Uint8Array(1000));
    write(writer);
    writer.finish(number, 0);
    recovered.apply(writer.out.bytes, batchAt(writer.out.bytes, 0, SEED)!, file);
  };
  // The snapshot: two messages in a page; when it tells of pages again, the first is in another page.
  apply(10, (writer) => writer.paged(2, pageOf(5, 72), []));
  apply(20, (writer) => writer.paged(2, pageOf(6, 71), []));
  // The log: how that came about.
  apply(12, (writer) => writer.unpaged(2, 71));
  const { pages } = recovered.queue(2);
  assertEquals([pages.size, recovered.damages.length], [0, 1]);
  assertEquals(recovered.damages[0]!.what, "page of 2 messages: the file is missing");
  apply(15, (writer) => writer.paged(2, pageOf(6, 71), [0, 1]));
  assertEquals([...pages.values()].map(({ file, count }) => [file, count]), [[6, 1]]);
});
