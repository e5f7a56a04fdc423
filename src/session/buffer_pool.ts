// Output buffers that all connections of an engine share. A connection borrows one for the turn in
// which it writes and gives it back when the transport has taken the bytes, so an idle connection has
// none. The pool never looks into a buffer.

import { dropBytes, EMPTY_BYTES } from "../lib/bytes.ts";

const BUFFER_BYTES = 65_536;
// A larger buffer is not kept, so that one huge message does not hold memory for ever.
const BUFFER_BYTES_MAX = 1_048_576;
const BUFFER_COUNT_MAX = 32;

/** A bounded stack of byte buffers. */
export class BufferPool {
  readonly #buffers: Uint8Array[] = [];

  /** Returns a buffer of at least 64 KiB. */
  take(): Uint8Array {
    return this.#buffers.pop() ?? new Uint8Array(BUFFER_BYTES);
  }

  /** Gives a buffer back. The caller must not use it again. */
  give(buffer: Uint8Array): void {
    const isUsable = buffer.length >= BUFFER_BYTES && buffer.length <= BUFFER_BYTES_MAX;
    if (isUsable && this.#buffers.length < BUFFER_COUNT_MAX) this.#buffers.push(buffer);
    else dropBytes(buffer);
  }

  /** The empty buffer of an outbox while nothing is written. */
  get nothing(): Uint8Array {
    return EMPTY_BYTES;
  }
}
