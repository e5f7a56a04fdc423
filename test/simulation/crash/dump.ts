// Prints what the files of a simulated disk say, entry by entry, to see why a seed fails.

import { parseDataFileName } from "../../../src/store/format/format.ts";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { batchesOf } from "./batches.ts";

/** Prints the batches of every log and snapshot, and the manifest. */
export function dump(disk: MemoryDisk, print: (line: string) => void): void {
  const batches = batchesOf(disk);
  for (const name of disk.paths()) {
    const bytes = disk.contentOf(name)!;
    print(`${name}: ${bytes.length} bytes`);
    const parsed = parseDataFileName(name);
    if (parsed === null) {
      print(new TextDecoder().decode(bytes).trim());
      continue;
    }
    for (const { file, place, entries } of batches) {
      if (file !== parsed.number) continue;
      const { start, number, previous, safe } = place;
      print(`  at ${start}: batch ${number} after ${previous}, safe ${safe}`);
      for (const { type, args } of entries) {
        print(`    ${type} ${args.map((arg) => JSON.stringify(arg)).join(" ")}`);
      }
    }
  }
}
