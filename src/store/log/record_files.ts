// Reads message records back from data files, one at a time and checked, for messages whose bytes are
// not in memory. FileStore asks; the answer comes in a later turn.

import { DiskError } from "../file_system.ts";
import { checksum } from "../checksum.ts";
import type { MessageSource } from "../port.ts";
import { VarintError } from "../varint.ts";
import { emptySource } from "../views.ts";
import { BatchFormatError, EntryReader } from "./batch_reader.ts";
import type { DataFiles } from "./data_files.ts";

/** What reading a record gives: its message, or why there is none. */
export type RecordResult =
  | { message: MessageSource; error: null }
  | { message: null; error: Error };

/** Reads records. */
export class RecordFiles {
  readonly #files: DataFiles;
  readonly #seed: number;
  readonly #entries = new EntryReader();
  readonly #message: MessageSource = emptySource();
  #refused: (() => void)[] = [];

  constructor(files: DataFiles, seed: number) {
    this.#files = files;
    this.#seed = seed;
  }

  /** Reads the record at a place; `done` is called later, by `step` if the file cannot even be asked. */
  read(
    place: { file: number; offset: number; recordBytes: number },
    done: (result: RecordResult) => void,
  ): void {
    const file = this.#files.get(place.file);
    if (file === undefined) {
      const error = new Error(`data file ${place.file} is missing`);
      this.#refused.push(() => done({ message: null, error }));
      return;
    }
    try {
      this.#files.reader(file).read(place.offset, place.recordBytes, (result) => {
        if (result.error !== null) done({ message: null, error: result.error });
        else done(this.#decode(result.bytes, place, file.name));
      });
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#refused.push(() => done({ message: null, error }));
    }
  }

  /** Whether `step` has something to tell. */
  get hasRefused(): boolean {
    return this.#refused.length > 0;
  }

  /** Tells what could not be told at once, because who asked was not ready for it; called once a turn. */
  step(): void {
    if (this.#refused.length === 0) return;
    for (const tell of this.#refused.splice(0)) tell();
  }

  #decode(
    bytes: Uint8Array,
    place: { offset: number; recordBytes: number },
    name: string,
  ): RecordResult {
    const damaged = (): RecordResult => ({
      message: null,
      error: new Error(`record at byte ${place.offset} of ${name} is damaged`),
    });
    if (bytes.length < place.recordBytes) return damaged();
    try {
      return { message: this.decode(bytes, 0, place.recordBytes), error: null };
    } catch (error) {
      const isDamage = error instanceof BatchFormatError || error instanceof VarintError;
      if (!isDamage) throw error;
      return damaged();
    }
  }

  /**
   * The message whose record entry is `bytes[at, end)`; valid until the next call.
   * @throws BatchFormatError, VarintError when it does not check
   */
  decode(bytes: Uint8Array, at: number, end: number): MessageSource {
    const record = this.#entries.recordAt(bytes, at, end);
    const headSum = checksum(bytes, at, record.partsAt - 4, this.#seed);
    if (checksum(bytes, record.partsAt, at + record.recordBytes, headSum) !== record.checksum) {
      throw new BatchFormatError("record does not check");
    }
    const message = this.#message;
    message.address = bytes;
    message.addressStart = record.partsAt;
    message.addressEnd = record.partsAt + record.addressBytes;
    message.properties = bytes;
    message.propertiesStart = message.addressEnd;
    message.propertiesEnd = message.addressEnd + record.propertiesBytes;
    message.body = bytes;
    message.bodyStart = message.propertiesEnd;
    message.bodyEnd = message.propertiesEnd + record.bodyBytes;
    message.flags = record.flags;
    message.priority = record.priority;
    message.arrivalMs = record.arrivalMs;
    message.expiryMs = record.expiryMs;
    return message;
  }
}
