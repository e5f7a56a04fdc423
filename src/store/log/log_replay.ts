// Reads the commit log back: which batches of which files are true, in their order. Recovery calls it with
// what is done with each; it knows nothing of entries.
//
// A batch may stand in several files, when the log had to start afresh: the last copy counts, because an
// earlier one may never have reached the disk although it can be read. Batches form a chain (format.ts).
// Where it is broken, a batch that is said to have been safe is damage, and reading goes on behind it;
// any other is what the end of a machine has torn out, and everything behind it has to go, or there
// would be an effect without its cause.

import type { BatchPlace } from "./batch_reader.ts";
import { type Damage, scanBatches } from "./batch_scan.ts";
import type { DataFile, DataFiles } from "./data_files.ts";
import type { Manifest } from "./manifest.ts";

/** Called for each true batch: `bytes` hold it, and begin at `base` in the file. */
export type OnLogBatch = (
  batch: BatchPlace,
  where: { bytes: Uint8Array; base: number; file: DataFile },
) => void;

/** How a log was found. */
export interface Replay {
  /** The last batch that is true. */
  lastBatch: number;
  /** What could not be read although it had been safe. */
  damages: Damage[];
  /** What had not been safe and is gone. */
  cuts: Damage[];
}

/** A place from which on nothing is true. */
interface Cut {
  index: number;
  offset: number;
}

/** Reads the log of a folder; everything that is true in it is safe afterwards. @throws DiskError */
export function replayLog(files: DataFiles, manifest: Manifest, onBatch: OnLogBatch): Replay {
  const logs = files.ofKind("log").filter((log) => log.number >= manifest.fromLog);
  const ends = logs.map((_, index) => firstNumber(files, manifest, logs.slice(index + 1)));
  const replay: Replay = { lastBatch: manifest.lastBatch, damages: [], cuts: [] };
  let cut: Cut | null = null;
  let safeBatch = -1;
  // Bytes that do not check are damage only where a batch is missing: a log that had to start afresh
  // leaves some too, and then the next batch follows in the next file.
  let torn: Damage[] = [];
  for (let index = 0; index < logs.length && cut === null; index++) {
    const file = logs[index]!;
    const scan = scanBatches(files, file, manifest.seed, (bytes, batch, base, gapBytes) => {
      if (batch.number >= ends[index]!) return false;
      if (batch.number <= replay.lastBatch) return true;
      const offset = base + batch.start;
      if (batch.previous !== replay.lastBatch) {
        if (safeBatch < 0) safeBatch = lastSafe(files, manifest, logs);
        if (batch.previous > safeBatch) {
          cut = { index, offset };
          return false;
        }
        const missing = `batches between ${replay.lastBatch} and ${batch.number} are missing`;
        const what = gapBytes === 0 ? missing : `${gapBytes} bytes do not check: ${missing}`;
        replay.damages.push(...torn, { file: file.name, offset: offset - gapBytes, what });
      }
      torn = [];
      replay.lastBatch = batch.number;
      onBatch(batch, { bytes, base, file });
      return true;
    });
    if (scan.tornBytes > 0) {
      const what = `an end of ${scan.tornBytes} bytes does not check`;
      torn.push({ file: file.name, offset: scan.byteLength, what });
    }
  }
  replay.cuts.push(...torn);
  if (cut !== null) cutFrom(files, logs, cut);
  // What only the system has, and not the disk, must not be lost when the next batches build on it.
  for (const log of logs) if (files.get(log.number) === log) syncFile(files, log);
  return replay;
}

// The lowest number in some files: copies of it and of what follows in earlier files do not count.
function firstNumber(files: DataFiles, manifest: Manifest, logs: readonly DataFile[]): number {
  let first = Infinity;
  for (const log of logs) {
    scanBatches(files, log, manifest.seed, (_, batch) => {
      first = Math.min(first, batch.number);
      return false;
    });
  }
  return first;
}

// The last batch that a later one says was safe. Looked for only when the chain is broken.
function lastSafe(files: DataFiles, manifest: Manifest, logs: readonly DataFile[]): number {
  let safe = 0;
  for (const log of logs) {
    scanBatches(files, log, manifest.seed, (_, batch) => {
      safe = Math.max(safe, batch.safe);
      return true;
    });
  }
  return safe;
}

function cutFrom(files: DataFiles, logs: readonly DataFile[], cut: Cut): void {
  for (const log of logs.slice(cut.index + 1)) files.remove(log);
  const handle = files.fs.open(logs[cut.index]!.name, "readwrite");
  try {
    handle.truncate(cut.offset);
  } finally {
    handle.close();
  }
}

function syncFile(files: DataFiles, log: DataFile): void {
  const handle = files.fs.open(log.name, "readwrite");
  try {
    handle.syncNow();
    log.byteLength = handle.byteLength;
  } finally {
    handle.close();
  }
}
