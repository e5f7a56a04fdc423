// Reads message records back from data files and checks each, for messages whose bytes are not in
// memory. RecordReads asks. The answer comes in a later turn.

import { DiskError } from "../file_system.ts";
import { checksum } from "../checksum.ts";
import type { MessageSource } from "../port.ts";
import { VarintError } from "../varint.ts";
import { emptySource } from "../views.ts";
import { BatchFormatError, EntryReader } from "../format/batch_reader.ts";
import type { DataFiles } from "../folder/data_files.ts";

/** The result of reading a record: its message, or the error. */
export type RecordResult =
  | { message: MessageSource; error: null }
  | { message: null; error: Error };

/** Where a record is. */
export interface RecordPlace {
  file: number;
  offset: number;
  recordBytes: number;
}

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

  /**
   * Reads the records at some places of one file, in rising order, with one read from the first to
   * the last. `each` is called for every record in a later turn. If the file cannot be opened,
   * `step` calls it.
   */
  read<P extends RecordPlace>(
    places: readonly P[],
    each: (place: P, result: RecordResult) => void,
  ): void {
    const first = places[0]!;
    const last = places.at(-1)!;
    const refuse = (error: Error) => places.forEach((place) => each(place, failure(error)));
    const file = this.#files.get(first.file);
    if (file === undefined) {
      this.#refused.push(() => refuse(new Error(`data file ${first.file} is missing`)));
      return;
    }
    const byteLength = last.offset + last.recordBytes - first.offset;
    try {
      this.#files.reader(file).read(first.offset, byteLength, ({ bytes, error }) => {
        if (error !== null) return refuse(error);
        for (const place of places) {
          each(place, this.#decode(bytes, place, { base: first.offset, name: file.name }));
        }
      });
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#refused.push(() => refuse(error));
    }
  }

  /** Whether `step` has refused records to report. */
  get hasRefused(): boolean {
    return this.#refused.length > 0;
  }

  /**
   * Reports records whose file could not be opened. This is done later, because the caller was not
   * ready for it. To be called once a turn.
   */
  step(): void {
    if (this.#refused.length === 0) return;
    for (const tell of this.#refused.splice(0)) tell();
  }

  #decode(
    bytes: Uint8Array,
    place: RecordPlace,
    from: { base: number; name: string },
  ): RecordResult {
    const at = place.offset - from.base;
    const end = at + place.recordBytes;
    try {
      if (end <= bytes.length) return { message: this.decode(bytes, at, end), error: null };
    } catch (error) {
      const isDamage = error instanceof BatchFormatError || error instanceof VarintError;
      if (!isDamage) throw error;
    }
    return failure(new Error(`record at byte ${place.offset} of ${from.name} is damaged`));
  }

  /**
   * Returns the message whose record entry is `bytes[at, end)`. It is valid until the next call.
   * @throws BatchFormatError, VarintError when its bytes or its checksum are wrong
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

function failure(error: Error): RecordResult {
  return { message: null, error };
}
