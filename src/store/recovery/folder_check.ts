// Checks a data folder without changing it. It reads the folder as recovery does, then every live
// message, and reports the content and the damage. The command `check` calls it with a disk that
// can only be read.

import { DiskError, type FileSystem } from "../file_system.ts";
import type { DefinitionKind } from "../port.ts";
import { VarintError } from "../varint.ts";
import { BatchFormatError } from "../format/batch_reader.ts";
import { type Damage, FileWindow } from "../log/batch_scan.ts";
import { type DataFile, DataFiles } from "../folder/data_files.ts";
import {
  type DataFileKind,
  dataFileName,
  deathCauseOf,
  STATE_DELAYED,
  STATE_OUT,
} from "../format/format.ts";
import { type Manifest, readManifest, StoreFormatError } from "../folder/manifest.ts";
import { PageFormatError, PageReader } from "../pages/page_reader.ts";
import { RecordFiles } from "../residency/record_files.ts";
import { emptyRow } from "../format/message_row.ts";
import { recover, type Recovered, type RecoveredPage } from "./recovery.ts";

/** One queue of a folder. */
interface QueueReport {
  vhost: string;
  name: string;
  ready: number;
  delayed: number;
  /**
   * Messages out for delivery when the node ended. At the next start they are ready again, with one
   * delivery spent.
   */
  out: number;
  /**
   * Messages on their way to the dead-letter exchange when the node ended. The next start goes on
   * with them.
   */
  dying: number;
  /** Bytes of all bodies. */
  bodyBytes: number;
}

/** The content of a folder. */
export interface FolderReport {
  format: number;
  lastBatch: number;
  /** Broker time of the last batch, ms; 0 when there is none. */
  lastTimeMs: number;
  definitions: Record<DefinitionKind, number>;
  queues: QueueReport[];
  files: { kind: DataFileKind; fileCount: number; byteCount: number }[];
  /** Messages that were read and checked. */
  checkedCount: number;
  /** Torn ends, which were not safe when the node ended. The next start cuts them off. */
  cuts: Damage[];
  damages: Damage[];
}

/**
 * Checks the folder that `fs` shows. `fs` has to refuse changes.
 * @throws StoreFormatError when it is no data folder or has an unknown format; DiskError
 */
export function checkStore(fs: FileSystem): FolderReport {
  const manifest = readManifest(fs);
  if (manifest === null) throw new StoreFormatError("no data folder: it has no manifest");
  const files = new DataFiles(fs);
  try {
    files.scan();
    const recovered = recover(files, manifest, "none");
    const checker = new ContentChecker(files, manifest);
    const row = emptyRow();
    for (const { positions, pages } of recovered.queues.values()) {
      positions.each((_, index) => {
        recovered.rows.get(index, row);
        checker.add(row.file, row.offset, row.recordBytes);
      });
      for (const page of pages.values()) checker.addPage(page);
    }
    checker.run();
    return {
      format: manifest.format,
      lastBatch: recovered.lastBatch,
      lastTimeMs: recovered.lastTimeMs,
      definitions: {
        exchange: recovered.definitions.exchange.size,
        queue: recovered.definitions.queue.size,
        binding: recovered.definitions.binding.size,
        deleted: recovered.definitions.deleted.size,
      },
      queues: queueReports(recovered),
      files: fileReports(files),
      checkedCount: checker.checkedCount,
      cuts: recovered.cuts,
      damages: [...recovered.damages, ...checker.damages],
    };
  } finally {
    files.close();
  }
}

function queueReports(recovered: Recovered): QueueReport[] {
  const reports: QueueReport[] = [];
  const row = emptyRow();
  const { queue: queues, deleted } = recovered.definitions;
  for (const value of [...queues.values(), ...deleted.values()]) {
    const { id, vhost, name } = value as { id: number; vhost: string; name: string };
    const report = { vhost, name, ready: 0, delayed: 0, out: 0, dying: 0, bodyBytes: 0 };
    reports.push(report);
    const queue = recovered.queues.get(id);
    if (queue === undefined) continue;
    const { positions, pages } = queue;
    positions.each((_, index) => {
      recovered.rows.get(index, row);
      report.bodyBytes += row.bodyBytes;
      if (row.state === STATE_OUT) report.out++;
      else if (row.state === STATE_DELAYED) report.delayed++;
      else if (deathCauseOf(row.state) !== null) report.dying++;
      else report.ready++;
    });
    for (const page of pages.values()) {
      if (page.delays === null) report.ready += page.count;
      else report.delayed += page.count;
      report.bodyBytes += page.bodyBytes;
    }
  }
  return reports;
}

function fileReports(files: DataFiles): FolderReport["files"] {
  return (["log", "snapshot", "segment"] as const).map((kind) => {
    const ofKind = files.ofKind(kind);
    let byteCount = 0;
    for (const file of ofKind) byteCount += files.reader(file).byteLength;
    return { kind, fileCount: ofKind.length, byteCount };
  });
}

/** The parts of one file that have to be checked. */
interface Wanted {
  /** Offsets of the records. */
  offsets: number[];
  /** Bytes of each record. */
  lengths: number[];
  pages: RecoveredPage[];
}

/** Reads messages and pages file by file, in the order in which they lie there. */
class ContentChecker {
  readonly damages: Damage[] = [];
  checkedCount = 0;
  readonly #files: DataFiles;
  readonly #records: RecordFiles;
  readonly #pages: PageReader;
  readonly #wanted = new Map<number, Wanted>();

  constructor(files: DataFiles, manifest: Manifest) {
    this.#files = files;
    this.#records = new RecordFiles(files, manifest.seed);
    this.#pages = new PageReader(manifest.seed);
  }

  add(file: number, offset: number, recordBytes: number): void {
    const { offsets, lengths } = this.#of(file);
    offsets.push(offset);
    lengths.push(recordBytes);
  }

  addPage(page: RecoveredPage): void {
    this.#of(page.file).pages.push(page);
  }

  #of(file: number): Wanted {
    let wanted = this.#wanted.get(file);
    if (wanted === undefined) {
      wanted = { offsets: [], lengths: [], pages: [] };
      this.#wanted.set(file, wanted);
    }
    return wanted;
  }

  run(): void {
    for (const number of [...this.#wanted.keys()].sort((a, b) => a - b)) {
      const wanted = this.#wanted.get(number)!;
      this.#wanted.delete(number);
      const file = this.#files.get(number);
      if (file === undefined) this.#missing(number, wanted);
      else this.#checkFile(file, wanted);
    }
  }

  #missing(number: number, { offsets, pages }: Wanted): void {
    let count = offsets.length;
    for (const page of pages) count += page.count;
    const what = `the file is missing, and ${count} messages with it`;
    this.damages.push({ file: dataFileName("segment", number), offset: 0, what });
  }

  #checkFile(file: DataFile, { offsets, lengths, pages }: Wanted): void {
    const handle = this.#files.reader(file);
    const window = new FileWindow((offset, length) => handle.readNow(offset, length));
    const check = (offset: number, recordBytes: number) => {
      window.show(offset, recordBytes);
      return this.#isRecord(window.bytes, offset - window.base, recordBytes);
    };
    let last = -1;
    for (
      const index of Uint32Array.from(offsets.keys()).sort((a, b) => offsets[a]! - offsets[b]!)
    ) {
      const offset = offsets[index]!;
      // Several queues may hold one record.
      if (offset === last) continue;
      last = offset;
      this.#tell(file, offset, () => check(offset, lengths[index]!));
    }
    for (const page of pages) {
      this.#tell(file, page.offset, () => {
        this.#checkPage(handle.readNow(page.offset, page.byteLength), page);
        return true;
      });
    }
  }

  #tell(file: DataFile, offset: number, check: () => boolean): void {
    this.checkedCount++;
    try {
      if (!check()) this.#damaged(file, offset, "a message does not check");
    } catch (error) {
      const isDamage = error instanceof PageFormatError || error instanceof VarintError;
      if (!isDamage && !(error instanceof DiskError)) throw error;
      this.#damaged(file, offset, error.message);
    }
  }

  #damaged(file: DataFile, offset: number, what: string): void {
    this.damages.push({ file: file.name, offset, what });
  }

  #checkPage(bytes: Uint8Array, page: RecoveredPage): void {
    const pages = this.#pages;
    pages.open(bytes);
    this.checkedCount += page.count - 1;
    while (pages.next()) {
      if (this.#isRecord(bytes, pages.row.recordAt, pages.row.recordBytes)) continue;
      throw new PageFormatError(`the message at position ${pages.row.position} does not check`);
    }
    pages.checkRecords();
  }

  #isRecord(bytes: Uint8Array, at: number, recordBytes: number): boolean {
    if (at + recordBytes > bytes.length) return false;
    try {
      this.#records.decode(bytes, at, at + recordBytes);
      return true;
    } catch (error) {
      const isDamage = error instanceof BatchFormatError || error instanceof VarintError;
      if (!isDamage) throw error;
      return false;
    }
  }
}
