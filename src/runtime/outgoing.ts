// Bytes that a socket was given and the kernel has not taken yet, in order. Each socket of every
// runtime owns one and follows the buffer contract of session/transport.ts with it. A large buffer is
// kept and replaced by an empty one. Small writes are collected, so that a client that does not read
// cannot hold one large buffer per turn. It never writes anything itself.

import { dropBytes } from "../lib/bytes.ts";

/** A waiting write of at most this many bytes is copied; the buffer of a larger one is kept. */
const COPY_BYTES_MAX = 16_384;

/** Bytes of the buffers that are reused by other sockets instead of being collected as garbage. */
const POOLED_BYTES = 65_536;

const POOL_COUNT_MAX = 64;

const pool: Uint8Array[] = [];

/** Returns an empty buffer to fill: one that another socket no longer needs, or a new one. */
function takeBuffer(): Uint8Array {
  return pool.pop() ?? new Uint8Array(POOLED_BYTES);
}

function giveBuffer(buffer: Uint8Array): void {
  // A view into a larger buffer came from elsewhere and must not be reused as a whole buffer.
  const isPoolable = buffer.byteLength === POOLED_BYTES &&
    buffer.buffer.byteLength === POOLED_BYTES;
  if (isPoolable && pool.length < POOL_COUNT_MAX) pool.push(buffer);
  else if (buffer.byteLength >= POOLED_BYTES) dropBytes(buffer);
}

/** A run of waiting bytes: `buffer[start, end)`. */
export interface OutgoingRun {
  readonly buffer: Uint8Array;
  start: number;
  end: number;
}

/** The waiting writes of one socket. */
export class Outgoing {
  /** Number of waiting bytes. */
  byteCount = 0;
  readonly #runs: OutgoingRun[] = [];

  /** Keeps `buffer` itself until its bytes are taken. Returns an empty buffer to fill next. */
  hold(buffer: Uint8Array, start: number, end: number): Uint8Array {
    this.byteCount += end - start;
    this.#runs.push({ buffer, start, end });
    return takeBuffer();
  }

  /**
   * Keeps the bytes `buffer[start, end)` and returns the buffer to fill next: the same one when the
   * bytes were copied, an empty one when this buffer is kept.
   */
  keep(buffer: Uint8Array, start: number, end: number): Uint8Array {
    const byteCount = end - start;
    if (byteCount > COPY_BYTES_MAX) return this.hold(buffer, start, end);
    const run = this.#tailWithRoom(byteCount);
    // The bytes that the kernel is writing end at the old end of the run, so the room after it is free.
    run.buffer.set(buffer.subarray(start, end), run.end);
    run.end += byteCount;
    this.byteCount += byteCount;
    return buffer;
  }

  #tailWithRoom(byteCount: number): OutgoingRun {
    const tail = this.#runs.at(-1);
    if (tail !== undefined && tail.buffer.length - tail.end >= byteCount) return tail;
    const run = { buffer: new Uint8Array(COPY_BYTES_MAX), start: 0, end: 0 };
    this.#runs.push(run);
    return run;
  }

  /** Returns the oldest waiting bytes; undefined when none wait. */
  head(): OutgoingRun | undefined {
    return this.#runs[0];
  }

  /** Removes `byteCount` bytes of the head, which the kernel has taken. */
  taken(byteCount: number): void {
    const head = this.#runs[0];
    if (head === undefined) return;
    this.byteCount -= byteCount;
    head.start += byteCount;
    if (head.start < head.end) return;
    this.#runs.shift();
    giveBuffer(head.buffer);
  }

  /** Drops all waiting bytes, because the socket is gone. */
  clear(): void {
    this.#runs.length = 0;
    this.byteCount = 0;
  }
}
