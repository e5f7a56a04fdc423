// scanBatches() behind damage: it goes on at the next batch, and at nothing that only looks like one.

import { assertEquals } from "@std/assert";
import { putU32 } from "../../../../src/lib/bytes.ts";
import { scanBatches } from "../../../../src/store/log/batch_scan.ts";
import { BatchWriter } from "../../../../src/store/format/batch_writer.ts";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { BATCH_MAGIC } from "../../../../src/store/format/format.ts";
import { emptyView } from "../../../../src/store/views.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const SEED = 7;

/** A log file of batches, each with a body of so many bytes that look like the beginnings of batches. */
function fileOf(bodies: readonly number[], shift = 0) {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const { file, handle } = files.create("log");
  const starts: number[] = [];
  for (const [index, bodyBytes] of bodies.entries()) {
    const bytes = new Uint8Array(bodyBytes);
    for (let at = shift; at + 8 <= bodyBytes; at += 8) {
      putU32(bytes, at, BATCH_MAGIC);
      putU32(bytes, at + 4, 40);
    }
    const writer = new BatchWriter(SEED);
    writer.open(new Uint8Array(100));
    writer.record(Object.assign(emptyView(), { bytes, bodyEnd: bodyBytes }));
    writer.finish(index + 1, 0);
    starts.push(file.byteLength);
    handle.write(writer.out.bytes, 0, writer.out.byteCount, file.byteLength);
    file.byteLength += writer.out.byteCount;
  }
  handle.close();
  const scan = () => {
    const numbers: number[] = [];
    const { damages, tornBytes } = scanBatches(files, file, SEED, (_bytes, batch) => {
      numbers.push(batch.number);
      return true;
    });
    return { numbers, damages: damages.map(({ offset }) => offset), tornBytes };
  };
  return { disk, file, starts, scan };
}

for (const shift of [0, 1, 2, 3, 4, 5, 6, 7]) {
  Deno.test(`scanBatches() finds the next batch behind a damaged one that looks like many (${shift})`, () => {
    const { disk, file, starts, scan } = fileOf([100, 2000, 100, 3000, 100], shift);
    assertEquals(scan(), { numbers: [1, 2, 3, 4, 5], damages: [], tornBytes: 0 });
    for (const index of [1, 3]) disk.flip(file.name, starts[index]! + 200, 3);
    assertEquals(scan(), { numbers: [1, 3, 5], damages: [starts[1], starts[3]], tornBytes: 0 });
  });
}

Deno.test("scanBatches() calls what is behind the last batch torn", () => {
  const { disk, file, starts, scan } = fileOf([100, 100, 2000]);
  disk.flip(file.name, starts[2]! + 100, 0);
  assertEquals(scan(), {
    numbers: [1, 2],
    damages: [],
    tornBytes: file.byteLength - starts[2]!,
  });
});
