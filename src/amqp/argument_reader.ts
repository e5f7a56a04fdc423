// Reads the arguments of one method in order, strictly: too few bytes, too many, or a short string
// that is not UTF-8 end the connection. The generated decoders of methods_gen.ts and start_ok.ts
// use it. hot_methods.ts reads the hot methods in place.

import { copyOfRange, readU16, readU32, readU64 } from "../lib/bytes.ts";
import { decodeTextStrict } from "../lib/text.ts";
import { ConnectionError } from "./errors.ts";
import type { FieldTableLimits } from "./field_table.ts";
import { decodeFieldTable } from "./field_table.ts";
import type { FieldTable } from "./field_value.ts";
import { checkTable } from "./raw_table.ts";
import { FRAME_ERROR, SYNTAX_ERROR } from "./reply_code.ts";

/** A strict cursor over the arguments of one method. */
export class ArgumentReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #methodKey: number;
  #at: number;
  #bits = 0;

  /**
   * Starts at the first argument, after class and method id. Errors name the method `methodKey`.
   */
  constructor(bytes: Uint8Array, start: number, end: number, methodKey: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#methodKey = methodKey;
  }

  #error(code: number, detail: string): ConnectionError {
    return new ConnectionError(code, detail, this.#methodKey >>> 16, this.#methodKey & 0xffff);
  }

  #claim(byteCount: number): number {
    const at = this.#at;
    if (byteCount > this.#end - at) throw this.#error(SYNTAX_ERROR, "method is truncated");
    this.#at = at + byteCount;
    return at;
  }

  /** An unsigned 8-bit integer. */
  octet(): number {
    return this.#bytes[this.#claim(1)]!;
  }

  /** An unsigned 16-bit integer. */
  short(): number {
    return readU16(this.#bytes, this.#claim(2));
  }

  /** An unsigned 32-bit integer. */
  long(): number {
    return readU32(this.#bytes, this.#claim(4));
  }

  /** An unsigned 64-bit integer as a double. */
  longlong(): number {
    return readU64(this.#bytes, this.#claim(8));
  }

  /** Loads the next octet of packed bits, for `bit`. */
  bitOctet(): void {
    this.#bits = this.octet();
  }

  /** Bit `index` of the octet loaded last. */
  bit(index: number): boolean {
    return (this.#bits & (1 << index)) !== 0;
  }

  /** A short string; RabbitMQ answers 501 to one that is not UTF-8. */
  shortstr(): string {
    const byteCount = this.octet();
    const at = this.#claim(byteCount);
    const text = decodeTextStrict(this.#bytes, at, at + byteCount);
    if (text === undefined) throw this.#error(FRAME_ERROR, "Malformed UTF-8 in shortstr");
    return text;
  }

  /** Skips a short string that the protocol reserves. */
  skipShortstr(): void {
    this.#claim(this.octet());
  }

  /** A long string as a copy of its bytes. */
  longstr(): Uint8Array {
    const byteCount = this.long();
    const at = this.#claim(byteCount);
    return copyOfRange(this.#bytes, at, at + byteCount);
  }

  /** Skips a long string that the protocol reserves. */
  skipLongstr(): void {
    this.#claim(this.long());
  }

  /** A field table. */
  table(limits: FieldTableLimits): FieldTable {
    const byteCount = this.long();
    const at = this.#claim(byteCount);
    try {
      return decodeFieldTable(this.#bytes, at, at + byteCount, limits);
    } catch (error) {
      throw error instanceof ConnectionError ? this.#error(error.code, error.detail) : error;
    }
  }

  /** Checks a field table without decoding it, and returns where it ends. */
  checkedTable(): number {
    const byteCount = this.long();
    const at = this.#claim(byteCount);
    try {
      checkTable(this.#bytes, at, at + byteCount);
    } catch (error) {
      throw error instanceof ConnectionError ? this.#error(error.code, error.detail) : error;
    }
    return at + byteCount;
  }

  /** Ends the method. Bytes left over are an error. */
  finish(): void {
    if (this.#at !== this.#end) throw this.#error(SYNTAX_ERROR, "method has surplus bytes");
  }
}
