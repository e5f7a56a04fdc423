// The batches of a folder with their entries, as they stand in its files.

import {
  batchAt,
  type BatchPlace,
  type BatchVisitor,
  EntryReader,
} from "../../../src/store/format/batch_reader.ts";
import { type DataFileKind, parseDataFileName } from "../../../src/store/format/format.ts";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { STORE_SEED } from "./plan.ts";

/** A batch. */
export interface FoundBatch {
  readonly file: number;
  readonly kind: DataFileKind;
  readonly place: BatchPlace;
  readonly entries: readonly { type: string; args: readonly unknown[] }[];
}

/** Every batch that checks, of all files of a disk. */
export function batchesOf(disk: MemoryDisk): FoundBatch[] {
  const found: FoundBatch[] = [];
  const reader = new EntryReader();
  for (const name of disk.paths()) {
    const parsed = parseDataFileName(name);
    if (parsed === null) continue;
    const bytes = disk.contentOf(name)!;
    for (let at = 0; at < bytes.length; at += 8) {
      const place = batchAt(bytes, at, STORE_SEED);
      if (place === null) continue;
      const entries: { type: string; args: unknown[] }[] = [];
      const collector = new Proxy({}, {
        get: (_, type) => (...args: unknown[]) =>
          entries.push({ type: String(type), args: args.map((arg) => structuredClone(arg)) }),
      });
      reader.read(bytes, place, collector as BatchVisitor);
      found.push({ file: parsed.number, kind: parsed.kind, place, entries });
      at = place.end - 8;
    }
  }
  return found;
}
