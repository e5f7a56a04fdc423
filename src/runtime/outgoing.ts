// Bytes a socket has been given and the kernel has not taken yet, in order. Each socket of every
// runtime owns one and follows the buffer contract of session/transport.ts through it: large buffers
// are kept and swapped for an empty one, small writes are collected so that a client which does not
// read cannot pin one large buffer per turn. It never writes anything itself.

import { dropBytes } from "../lib/bytes.ts";

/** Below this many bytes a waiting write is copied instead of its buffer being kept. */
const COPY_BYTES_MAX = 16_384;

/** Buffers of this size go round between sockets instead of to the garbage collector. */
const POOLED_BYTES = 65_536;

const POOL_COUNT_MAX = 64;

const pool: Uint8Array[] = [];

/** An empty buffer to fill: one that another socket has finished with, or a new one. */
export function takeBuffer(): Uint8Array {
  return pool.pop() ?? new Uint8Array(POOLED_BYTES);
}

function giveBuffer(buffer: Uint8Array): void {
  // A view into something larger came from elsewhere and must not be handed out as if it were whole.
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

/** Waiting writes of one socket. */
export class Outgoing {
  /** Bytes waiting. */
  byteCount = 0;
  readonly #runs: OutgoingRun[] = [];

  /** Keeps `buffer` itself until its bytes are taken; returns an empty buffer to fill next. */
  hold(buffer: Uint8Array, start: number, end: number): Uint8Array {
    this.byteCount += end - start;
    this.#runs.push({ buffer, start, end });
    return takeBuffer();
  }

  /**
   * Keeps the bytes `buffer[start, end)` and returns the buffer to fill next: the same one when
   * they were copied, an empty one when this one is needed here.
   */
  keep(buffer: Uint8Array, start: number, end: number): Uint8Array {
    const byteCount = end - start;
    if (byteCount > COPY_BYTES_MAX) return this.hold(buffer, start, end);
    const run = this.#tailWithRoom(byteCount);
    // What the kernel is being shown ends at the run's old end, so the room behind it is free.
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

  /** The oldest waiting bytes, or undefined when nothing waits. */
  head(): OutgoingRun | undefined {
    return this.#runs[0];
  }

  /** The kernel has taken `byteCount` bytes of the head. */
  taken(byteCount: number): void {
    const head = this.#runs[0];
    if (head === undefined) return;
    this.byteCount -= byteCount;
    head.start += byteCount;
    if (head.start < head.end) return;
    this.#runs.shift();
    giveBuffer(head.buffer);
  }

  /** The socket is gone and with it everything that waited. */
  clear(): void {
    this.#runs.length = 0;
    this.byteCount = 0;
  }
}
