// Reads the index of a page, row by row: for the page loader while the node runs, for recovery and
// for the offline check. It trusts nothing: an index with a wrong checksum is an error.

import { EMPTY_BYTES, readF64, readU32, readU64 } from "../../lib/bytes.ts";
import { checksum } from "../checksum.ts";
import { RECORD_PERSISTENT } from "../port.ts";
import { VarintReader } from "../varint.ts";
import { unpackEntry } from "../format/batch_writer.ts";
import * as format from "../format/format.ts";

/** A message of a page. */
export interface PageRow {
  position: number;
  entry: number;
  flags: number;
  priority: number;
  /** Offset of its record in the page. */
  recordAt: number;
  recordBytes: number;
  addressBytes: number;
  propertiesBytes: number;
  bodyBytes: number;
  arrivalMs: number;
  /** When its own expiration ends, ms; Infinity without one. */
  expiryMs: number;
  /** When it expires in its queue, ms; Infinity when it does not. */
  endMs: number;
  /** When its delay ends, ms; 0 when it is ready. */
  dueMs: number;
  delayNumber: number;
}

/** The bytes are not a page, or not a whole one. */
export class PageFormatError extends Error {
  override readonly name = "PageFormatError";
}

/** Goes through the rows of a page's index. It may be used again. */
export class PageReader {
  /** The row that `next` has read. */
  readonly row: PageRow = {
    position: 0,
    entry: 0,
    flags: 0,
    priority: 0,
    recordAt: 0,
    recordBytes: 0,
    addressBytes: 0,
    propertiesBytes: 0,
    bodyBytes: 0,
    arrivalMs: 0,
    expiryMs: 0,
    endMs: 0,
    dueMs: 0,
    delayNumber: 0,
  };
  /** Queue the open page belongs to. */
  queueId = 0;
  /** Rows of the open page. */
  rowCount = 0;
  readonly #seed: number;
  readonly #reader = new VarintReader(new Uint8Array(0));
  #left = 0;
  /** Offset of the end of the page. */
  #end = 0;
  #bytes: Uint8Array = EMPTY_BYTES;
  #recordsAt = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /**
   * Opens the page with which `bytes` begin. They must reach at least to the end of its index.
   * @throws PageFormatError when the checksum of the index is wrong
   */
  open(bytes: Uint8Array): void {
    if (bytes.length < format.PAGE_HEADER_BYTES || readU32(bytes, 0) !== format.PAGE_MAGIC) {
      throw new PageFormatError("not a page");
    }
    const indexEnd = format.PAGE_HEADER_BYTES + readU32(bytes, 12);
    this.#end = format.PAGE_HEADER_BYTES + readU32(bytes, 4);
    if (indexEnd > bytes.length || indexEnd > this.#end) throw new PageFormatError("cut short");
    const sum = checksum(bytes, format.CHECKED_FROM, indexEnd, this.#seed);
    if (sum !== readU32(bytes, format.CHECKSUM_OFFSET)) {
      throw new PageFormatError("index does not check");
    }
    this.queueId = readU64(bytes, 16);
    this.rowCount = readU32(bytes, 24);
    this.#left = this.rowCount;
    this.#reader.reset(bytes, format.PAGE_HEADER_BYTES, indexEnd);
    this.row.position = 0;
    this.row.recordAt = indexEnd;
    this.row.recordBytes = 0;
    this.#bytes = bytes;
    this.#recordsAt = indexEnd;
  }

  /**
   * Checks all records of the open page at once. Its bytes must be there to the end. Afterwards the
   * rows can be trusted to tell where the parts of a record are: they end where the record ends.
   * @throws PageFormatError when the checksum of the records is wrong
   */
  checkRecords(): void {
    const bytes = this.#bytes;
    if (this.#end > bytes.length) throw new PageFormatError("cut short");
    const sum = checksum(bytes, this.#recordsAt, this.#end, this.#seed);
    if (sum !== readU32(bytes, format.PAGE_RECORDS_CHECKSUM_OFFSET)) {
      throw new PageFormatError("records do not check");
    }
  }

  /** Offset of the body in the page. The parts of a record are its last bytes. */
  get bodyAt(): number {
    const { recordAt, recordBytes, bodyBytes } = this.row;
    return recordAt + recordBytes - bodyBytes;
  }

  /** Offset of the properties in the page. */
  get propertiesAt(): number {
    return this.bodyAt - this.row.propertiesBytes;
  }

  /** Offset of the address in the page. */
  get addressAt(): number {
    return this.propertiesAt - this.row.addressBytes;
  }

  /**
   * Reads the next row that counts; false when there is none. Transient messages count if
   * `hasTransient`, which is false for pages that an earlier life of the node has written.
   * @throws PageFormatError, VarintError
   */
  nextCounted(hasTransient: boolean): boolean {
    while (this.next()) {
      if (hasTransient || (this.row.flags & RECORD_PERSISTENT) !== 0) return true;
    }
    return false;
  }

  /** Reads the next row; false when there is none. @throws PageFormatError, VarintError */
  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    const { row } = this;
    const reader = this.#reader;
    row.position += reader.next();
    row.entry = unpackEntry(reader.next());
    const flags = this.#u8();
    row.priority = this.#u8();
    row.recordAt += row.recordBytes;
    row.recordBytes = reader.next();
    row.addressBytes = reader.next();
    row.propertiesBytes = reader.next();
    row.bodyBytes = reader.next();
    if ((flags & format.ROW_SAME_ARRIVAL) === 0) row.arrivalMs = this.#f64();
    row.expiryMs = (flags & format.RECORD_HAS_EXPIRY) === 0 ? Infinity : this.#f64();
    row.endMs = (flags & format.ROW_HAS_END) === 0 ? row.expiryMs : this.#f64();
    const isDelayed = (flags & format.ROW_DELAYED) !== 0;
    row.dueMs = isDelayed ? reader.next() : 0;
    row.delayNumber = isDelayed ? reader.next() : 0;
    row.flags = flags & ~format.ROW_FLAGS;
    if (row.recordAt + row.recordBytes > this.#end) throw new PageFormatError("cut short");
    return true;
  }

  #u8(): number {
    const reader = this.#reader;
    if (reader.at >= reader.end) throw new PageFormatError("row is cut short");
    return reader.bytes[reader.at++]!;
  }

  #f64(): number {
    const reader = this.#reader;
    if (reader.at + 8 > reader.end) throw new PageFormatError("row is cut short");
    const value = readF64(reader.bytes, reader.at);
    reader.at += 8;
    return value;
  }
}
