// Prints what the files of a simulated disk say, entry by entry, to see why a seed fails.

import { batchAt, type BatchVisitor, EntryReader } from "../../../src/store/log/batch_reader.ts";
import { parseDataFileName } from "../../../src/store/log/format.ts";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { STORE_SEED } from "./plan.ts";

/** Prints the batches of every log and snapshot, and the manifest. */
export function dump(disk: MemoryDisk, print: (line: string) => void): void {
  for (const name of disk.paths()) {
    const bytes = disk.contentOf(name)!;
    print(`${name}: ${bytes.length} bytes`);
    const kind = parseDataFileName(name)?.kind;
    if (kind === undefined) print(new TextDecoder().decode(bytes).trim());
    else dumpBatches(bytes, print);
  }
}

function dumpBatches(bytes: Uint8Array, print: (line: string) => void): void {
  const reader = new EntryReader();
  for (let at = 0; at < bytes.length; at += 8) {
    const batch = batchAt(bytes, at, STORE_SEED);
    if (batch === null) continue;
    const entries: string[] = [];
    const visitor = new Proxy({}, {
      get: (_, entry) => (...args: unknown[]) =>
        entries.push(`${String(entry)} ${args.map((arg) => JSON.stringify(arg)).join(" ")}`),
    });
    reader.read(bytes, batch, visitor as BatchVisitor);
    const { number, previous, safe } = batch;
    print(`  at ${at}: batch ${number} after ${previous}, safe ${safe}`);
    for (const entry of entries) print(`    ${entry}`);
    at = batch.end - 8;
  }
}
