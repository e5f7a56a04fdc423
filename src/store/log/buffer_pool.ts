// Buffers for batches, used in turn: the commit log fills one while others wait to be safe. Large ones
// are not kept, so that one huge batch does not stay for ever.

const BUFFERS_MAX = 8;
const BUFFER_BYTES_MIN = 64 * 1024;
const BUFFER_BYTES_MAX = 1024 * 1024;

/** A few buffers to be used again. */
export class BufferPool {
  readonly #buffers: Uint8Array[] = [];

  /** A buffer with anything in it. */
  take(): Uint8Array {
    return this.#buffers.pop() ?? new Uint8Array(BUFFER_BYTES_MIN);
  }

  /** Takes one back that nobody looks at any more. */
  give(buffer: Uint8Array): void {
    const isKept = this.#buffers.length < BUFFERS_MAX && buffer.length <= BUFFER_BYTES_MAX;
    if (isKept) this.#buffers.push(buffer);
  }
}
