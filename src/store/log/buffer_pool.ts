// Buffers for batches, used in turn: the commit log fills one while others wait to be safe. Large ones
// are not kept, so that one huge batch does not stay for ever.

import { dropBytes } from "../../lib/bytes.ts";

const BUFFERS_MAX = 8;
const BUFFER_BYTES_MIN = 64 * 1024;
const BUFFER_BYTES_MAX = 1024 * 1024;

/** A few buffers to be used again. */
export class BufferPool {
  readonly #buffers: Uint8Array[] = [];
  /** Buffers that somebody has. */
  #outCount = 0;

  /** A buffer with anything in it. */
  take(): Uint8Array {
    this.#outCount++;
    return this.#buffers.pop() ?? new Uint8Array(BUFFER_BYTES_MIN);
  }

  /**
   * Bytes `[0, byteCount)` of a buffer, for a batch that has to wait: the buffer, or when many are out
   * already, which is when the disk is in trouble, a copy of its own size.
   */
  keep(buffer: Uint8Array, byteCount: number): Uint8Array {
    if (this.#outCount <= BUFFERS_MAX || byteCount * 2 > buffer.length) return buffer;
    const copy = buffer.slice(0, byteCount);
    this.give(buffer);
    return copy;
  }

  /** Takes one back that nobody looks at any more. */
  give(buffer: Uint8Array): void {
    // A copy is nobody's buffer.
    if (buffer.length < BUFFER_BYTES_MIN) return;
    this.#outCount--;
    const isKept = this.#buffers.length < BUFFERS_MAX && buffer.length <= BUFFER_BYTES_MAX;
    if (isKept) this.#buffers.push(buffer);
    else dropBytes(buffer);
  }
}
