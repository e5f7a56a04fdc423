// Reads the messages of a folder from its bytes, row by row and page by page, with the places that
// recovery has found: whether what lies there is what should be is the ledger's to say.

import type { FileStore } from "../../../src/store/file_store.ts";
import { DataFiles } from "../../../src/store/folder/data_files.ts";
import { parseDataFileName } from "../../../src/store/format/format.ts";
import { PageReader } from "../../../src/store/pages/page_reader.ts";
import { RecordFiles } from "../../../src/store/residency/record_files.ts";
import { emptyRow } from "../../../src/store/format/message_row.ts";
import type { RecoveredPage, RecoveredQueue } from "../../../src/store/recovery/recovery.ts";
import { RECORD_PERSISTENT } from "../../../src/store/port.ts";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { keyOf } from "./messages.ts";
import { STORE_SEED } from "./plan.ts";
import { DELAYED, type FoundRows, READY, type Row } from "./state.ts";

/** Reads everything that a store has recovered, before its broker takes it over. */
export function readRows(disk: MemoryDisk, store: FileStore): FoundRows {
  const reader = new RowsReader(disk);
  const names = new Map<number, string>();
  const { queue: queues, deleted } = store.recovered.definitions;
  for (const value of [...queues.values(), ...deleted.values()]) {
    const { id, name } = value as { id: number; name: string };
    names.set(id, name);
  }
  const found = new Map<number, Map<number, Row>>();
  for (const [queueId, queue] of store.recovered.queues) {
    found.set(queueId, reader.read(queue, names.get(queueId) ?? "?"));
  }
  return found;
}

class RowsReader {
  readonly #files = new Map<number, Uint8Array>();
  readonly #records: RecordFiles;
  readonly #pages = new PageReader(STORE_SEED);

  constructor(disk: MemoryDisk) {
    this.#records = new RecordFiles(new DataFiles(disk), STORE_SEED);
    for (const name of disk.paths()) {
      const parsed = parseDataFileName(name);
      if (parsed !== null) this.#files.set(parsed.number, disk.contentOf(name)!);
    }
  }

  read(queue: RecoveredQueue, name: string): Map<number, Row> {
    const found = new Map<number, Row>();
    const about = emptyRow();
    queue.positions.each((position, index) => {
      queue.positions.rows.get(index, about);
      const { file, offset: at, recordBytes: byteCount, ...row } = about;
      found.set(position, { key: this.#key(name, { file, at, byteCount }), ...row });
    });
    for (const page of queue.pages.values()) this.#readPage(page, name, found);
    return found;
  }

  #key(queueName: string, place: { file: number; at: number; byteCount: number }): string {
    const { file, at, byteCount } = place;
    const bytes = this.#files.get(file);
    if (bytes === undefined) return `(file ${file} is not there)`;
    try {
      return keyOf(this.#records.decode(bytes, at, at + byteCount), queueName);
    } catch (error) {
      return `(file ${file} at ${at}: ${(error as Error).message})`;
    }
  }

  #readPage(page: RecoveredPage, queueName: string, found: Map<number, Row>): void {
    const broken = (what: string): Row => ({ ...NO_ROW, key: `(page at ${page.offset}: ${what})` });
    const bytes = this.#files.get(page.file);
    if (bytes === undefined) {
      found.set(page.first, broken(`file ${page.file} is not there`));
      return;
    }
    let count = 0;
    try {
      const reader = this.#pages;
      reader.open(bytes.subarray(page.offset, page.offset + page.byteLength));
      const { row } = reader;
      while (reader.next()) {
        if ((row.flags & RECORD_PERSISTENT) === 0) continue;
        count++;
        const at = page.offset + row.recordAt;
        const key = this.#key(queueName, { file: page.file, at, byteCount: row.recordBytes });
        const { flags, priority, bodyBytes, arrivalMs, expiryMs, entry, position } = row;
        const about = { flags, priority, bodyBytes, arrivalMs, expiryMs, entry };
        const { dueMs, delayNumber } = row;
        const isTwice = found.has(position);
        found.set(position, {
          ...about,
          key: isTwice ? `${key} twice` : key,
          state: delayNumber > 0 ? DELAYED : READY,
          dueMs,
          delayNumber,
        });
      }
    } catch (error) {
      found.set(page.first, broken((error as Error).message));
    }
    if (count !== page.count) found.set(page.first, broken(`${count} and not ${page.count}`));
  }
}

const NO_ROW: Row = {
  key: "",
  state: READY,
  entry: 0,
  dueMs: 0,
  delayNumber: 0,
  flags: 0,
  priority: 0,
  bodyBytes: 0,
  arrivalMs: 0,
  expiryMs: 0,
};
