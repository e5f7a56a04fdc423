// Goes through a data file batch by batch without holding the whole file in memory. Recovery and
// the offline check use it. It steps over damage in the middle, and measures a torn end.

import { readU32 } from "../../lib/bytes.ts";
import { batchAt, type BatchPlace } from "../format/batch_reader.ts";
import type { DataFile, DataFiles } from "../folder/data_files.ts";
import { BATCH_HEADER_BYTES, BATCH_MAGIC } from "../format/format.ts";

const WINDOW_BYTES = 8 * 1024 * 1024;

/** A part of a file that could not be read. */
export interface Damage {
  /** Name of the file. */
  file: string;
  /** Offset in the file. */
  offset: number;
  what: string;
}

/** The result of a scan. */
export interface Scan {
  /** Bytes up to the end of the last batch with a right checksum. */
  byteLength: number;
  /** Bytes behind that. */
  tornBytes: number;
  damages: Damage[];
}

/**
 * Called for each batch. `bytes` hold the batch, and `base` is the offset of `bytes` in the file.
 * The `gapBytes` before the batch have no right checksum. False ends the scan before this batch.
 */
export type OnBatch = (
  bytes: Uint8Array,
  batch: BatchPlace,
  base: number,
  gapBytes: number,
) => boolean;

/** A stretch of a file in memory; it moves forward in large steps. */
export class FileWindow {
  bytes: Uint8Array = new Uint8Array(0);
  /** Offset of `bytes` in the file. */
  base = 0;
  readonly #read: (offset: number, length: number) => Uint8Array;

  constructor(read: (offset: number, length: number) => Uint8Array) {
    this.#read = read;
  }

  /**
   * Moves the window so that it begins at `offset` and holds at least `byteCount` bytes, if the
   * file has them.
   */
  show(offset: number, byteCount: number): void {
    const isInside = offset >= this.base &&
      offset + byteCount <= this.base + this.bytes.length;
    if (isInside) return;
    this.bytes = this.#read(offset, Math.max(byteCount, WINDOW_BYTES));
    this.base = offset;
  }
}

/** Goes through `file`. @throws DiskError */
export function scanBatches(
  files: DataFiles,
  file: DataFile,
  seed: number,
  onBatch: OnBatch,
): Scan {
  const handle = files.reader(file);
  const fileBytes = handle.byteLength;
  const window = new FileWindow((offset, length) => handle.readNow(offset, length));
  const scan: Scan = { byteLength: 0, tornBytes: 0, damages: [] };
  let at = 0;
  let gapBytes = 0;
  while (at + BATCH_HEADER_BYTES <= fileBytes) {
    const batch = readBatch(window, at, seed);
    if (batch !== null) {
      if (!onBatch(window.bytes, batch, window.base, gapBytes)) break;
      gapBytes = 0;
      at = window.base + batch.end;
      scan.byteLength = at;
      continue;
    }
    const nextAt = findBatch(window, at + 8, { fileBytes, seed });
    if (nextAt < 0) break;
    scan.damages.push({ file: file.name, offset: at, what: `${nextAt - at} bytes do not check` });
    gapBytes = nextAt - at;
    at = nextAt;
  }
  scan.tornBytes = fileBytes - scan.byteLength;
  return scan;
}

function readBatch(window: FileWindow, at: number, seed: number): BatchPlace | null {
  window.show(at, BATCH_HEADER_BYTES);
  const inWindow = at - window.base;
  if (readU32(window.bytes, inWindow) !== BATCH_MAGIC) return null;
  window.show(at, BATCH_HEADER_BYTES + readU32(window.bytes, inWindow + 4));
  return batchAt(window.bytes, at - window.base, seed);
}

// Returns where the next batch with a right checksum begins, -1 when there is none. Batches may be
// larger than a window, so each candidate is checked with all the bytes that it claims.
function findBatch(
  window: FileWindow,
  from: number,
  file: { fileBytes: number; seed: number },
): number {
  for (let at = from; at + BATCH_HEADER_BYTES <= file.fileBytes; at += 8) {
    window.show(at, BATCH_HEADER_BYTES);
    const inWindow = at - window.base;
    if (readU32(window.bytes, inWindow) !== BATCH_MAGIC) continue;
    const claimed = BATCH_HEADER_BYTES + readU32(window.bytes, inWindow + 4);
    if (at + claimed <= file.fileBytes && readBatch(window, at, file.seed) !== null) return at;
  }
  return -1;
}
