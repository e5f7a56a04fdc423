// Output buffers shared by all connections of an engine: a connection borrows one for the turn in
// which it writes and gives it back once the transport has taken the bytes, so an idle connection
// owns none. It never looks into a buffer.

import { dropBytes, EMPTY_BYTES } from "../lib/bytes.ts";

const BUFFER_BYTES = 65_536;
// A buffer that grew beyond this is given back: one huge message must not pin it.
const BUFFER_BYTES_MAX = 1_048_576;
const BUFFER_COUNT_MAX = 32;

/** A bounded stack of byte buffers. */
export class BufferPool {
  readonly #buffers: Uint8Array[] = [];

  /** A buffer of at least 64 KiB. */
  take(): Uint8Array {
    return this.#buffers.pop() ?? new Uint8Array(BUFFER_BYTES);
  }

  /** Hands a buffer over; the giver forgets it. */
  give(buffer: Uint8Array): void {
    const isUsable = buffer.length >= BUFFER_BYTES && buffer.length <= BUFFER_BYTES_MAX;
    if (isUsable && this.#buffers.length < BUFFER_COUNT_MAX) this.#buffers.push(buffer);
    else dropBytes(buffer);
  }

  /** What an outbox holds while nothing is written. */
  get nothing(): Uint8Array {
    return EMPTY_BYTES;
  }
}
