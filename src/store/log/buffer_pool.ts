// Buffers for batches, which the commit log uses in turn. It fills one while others wait to be
// safe, dozens of them where bodies are large. A new buffer has the size that was needed last, so
// that a batch seldom has to grow it. The pool keeps a bounded number of bytes, so that one huge
// batch does not stay for ever.

import { dropBytes } from "../../lib/bytes.ts";

/**
 * When more buffers than this are in use, a batch that would fit into half of its buffer gets a
 * buffer of its own size.
 */
const ROOMY_COUNT_MAX = 8;
const BUFFER_BYTES_MIN = 64 * 1024;
const BUFFER_BYTES_MAX = 1024 * 1024;
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/** A pool of buffers. */
export class BufferPool {
  readonly #buffers: Uint8Array[] = [];
  #keptBytes = 0;
  /** Buffers in use. */
  #outCount = 0;
  /** Size of the buffer that was used last. */
  #usualBytes = BUFFER_BYTES_MIN;

  /** Returns a buffer with any content. */
  take(): Uint8Array {
    this.#outCount++;
    const kept = this.#buffers.pop();
    if (kept === undefined) return new Uint8Array(this.#usualBytes);
    this.#keptBytes -= kept.length;
    return kept;
  }

  /**
   * Returns a buffer with bytes `[0, byteCount)` of `buffer`, for a batch that has to wait. It is
   * `buffer` itself, or a copy of just that size when many are in use already, as when the disk is
   * in trouble.
   */
  keep(buffer: Uint8Array, byteCount: number): Uint8Array {
    const isRoomy = byteCount * 2 <= buffer.length;
    this.#usualBytes = isRoomy ? BUFFER_BYTES_MIN : Math.min(buffer.length, BUFFER_BYTES_MAX);
    if (this.#outCount <= ROOMY_COUNT_MAX || !isRoomy) return buffer;
    const copy = buffer.slice(0, byteCount);
    this.give(buffer);
    // The copy comes back like any other buffer.
    if (copy.length >= BUFFER_BYTES_MIN) this.#outCount++;
    return copy;
  }

  /** Takes back a buffer that is not used any more. */
  give(buffer: Uint8Array): void {
    // A small copy does not belong to the pool.
    if (buffer.length < BUFFER_BYTES_MIN) return;
    this.#outCount--;
    const isKept = buffer.length <= BUFFER_BYTES_MAX &&
      this.#keptBytes + buffer.length <= KEPT_BYTES_MAX;
    if (!isKept) return dropBytes(buffer);
    this.#buffers.push(buffer);
    this.#keptBytes += buffer.length;
  }
}
