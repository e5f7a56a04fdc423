// RecordFiles: whoever asks for a record is told later, also when there is nothing to be read.

import { assertEquals } from "@std/assert";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { RecordFiles } from "../../../../src/store/residency/record_files.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

Deno.test("RecordFiles.read() does not answer at once when the file is missing or cannot be opened", () => {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const { file } = files.create("log");
  const records = new RecordFiles(files, 1);
  const told: string[] = [];
  disk.failNext("open", "EMFILE");
  for (const number of [file.number, 99]) {
    const place = { file: number, offset: 0, recordBytes: 40 };
    records.read([place], (_, { error }) => told.push(error?.message ?? "read"));
  }
  assertEquals(told, []);
  records.step();
  assertEquals(told.length, 2);
  assertEquals(told[1], "data file 99 is missing");
  records.step();
  assertEquals(told.length, 2);
});
