// Buffers for batches, used in turn: the commit log fills one while others wait to be safe, dozens of
// them where bodies are large. They are as large as they had to be lately, so that a batch does not grow
// into its size, and what is kept of them is bounded, so that one huge batch does not stay for ever.

import { dropBytes } from "../../lib/bytes.ts";

/** With more out than this, a batch that would fit into half of its buffer gets one of its own size. */
const ROOMY_COUNT_MAX = 8;
const BUFFER_BYTES_MIN = 64 * 1024;
const BUFFER_BYTES_MAX = 1024 * 1024;
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/** Some buffers to be used again. */
export class BufferPool {
  readonly #buffers: Uint8Array[] = [];
  #keptBytes = 0;
  /** Buffers that somebody has. */
  #outCount = 0;
  /** Size of the one that was used last. */
  #usualBytes = BUFFER_BYTES_MIN;

  /** A buffer with anything in it. */
  take(): Uint8Array {
    this.#outCount++;
    const kept = this.#buffers.pop();
    if (kept === undefined) return new Uint8Array(this.#usualBytes);
    this.#keptBytes -= kept.length;
    return kept;
  }

  /**
   * Bytes `[0, byteCount)` of a buffer, for a batch that has to wait: the buffer, or when many are out
   * already, which is when the disk is in trouble, a copy of its own size.
   */
  keep(buffer: Uint8Array, byteCount: number): Uint8Array {
    const isRoomy = byteCount * 2 <= buffer.length;
    this.#usualBytes = isRoomy ? BUFFER_BYTES_MIN : Math.min(buffer.length, BUFFER_BYTES_MAX);
    if (this.#outCount <= ROOMY_COUNT_MAX || !isRoomy) return buffer;
    const copy = buffer.slice(0, byteCount);
    this.give(buffer);
    // It comes back like any other.
    if (copy.length >= BUFFER_BYTES_MIN) this.#outCount++;
    return copy;
  }

  /** Takes one back that nobody looks at any more. */
  give(buffer: Uint8Array): void {
    // A small copy is nobody's buffer.
    if (buffer.length < BUFFER_BYTES_MIN) return;
    this.#outCount--;
    const isKept = buffer.length <= BUFFER_BYTES_MAX &&
      this.#keptBytes + buffer.length <= KEPT_BYTES_MAX;
    if (!isKept) return dropBytes(buffer);
    this.#buffers.push(buffer);
    this.#keptBytes += buffer.length;
  }
}
