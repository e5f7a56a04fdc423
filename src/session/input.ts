// The bytes that a client has sent and the connection has not run yet: the parser, the chunks after it,
// and the reasons for which nothing may be run. It pauses the transport when no more input should come.
// It does not know the meaning of frames.

import { FrameParser } from "../amqp/frame_parser.ts";
import { dropBytes, EMPTY_BYTES } from "../lib/bytes.ts";
import type { Transport } from "./transport.ts";

/** Hold: memory or disk is short and the client has published. */
export const HOLD_MEMORY = 1;
/** Hold: the client does not take its output. */
export const HOLD_OUTPUT = 2;
/** Hold: a frame waits for the store, so the frames after it wait too. */
export const HOLD_STORE = 4;
/** Hold: consumers must first catch up with what the client has published. */
export const HOLD_ADMISSION = 8;
/** Hold: the bodies of other clients must arrive first. */
export const HOLD_CONTENT = 16;
/** Hold: a login, or the answer to a wrong one, must wait. */
export const HOLD_LOGIN = 32;
/** Hold: the client settles more deliveries than one turn may. */
export const HOLD_SETTLE = 64;

// Smaller chunks are left to the garbage collector, because they are cheap to collect.
const DROPPED_BYTES_MIN = 16_384;

/** The input of one connection. */
export class Input {
  /** Cuts the current chunk into frames. */
  readonly parser: FrameParser = new FrameParser();
  /** Bits of `HOLD_*`; nothing is run while any is set. */
  holds = 0;
  /** All bytes ever received. */
  receivedBytes = 0;
  readonly #transport: Transport;
  readonly #waiting: Uint8Array[] = [];
  /** Reading pauses while more bytes than this wait to be run. */
  waitingBytesMax: number;
  #chunk: Uint8Array = EMPTY_BYTES;
  #waitingBytes = 0;
  #isPaused = false;

  constructor(transport: Transport, waitingBytesMax: number) {
    this.#transport = transport;
    this.waitingBytesMax = waitingBytesMax;
  }

  /** Takes a chunk, which belongs to the input from now on. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    // A chunk whose last frame has been run stays current until `advance`, so new chunks wait behind
    // it.
    if (this.#chunk.length > 0) {
      this.#waiting.push(chunk);
      this.#waitingBytes += chunk.length;
      return;
    }
    this.#load(chunk);
  }

  #load(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.parser.push(chunk, 0, chunk.length);
  }

  /**
   * Goes to the next chunk. Called when the current chunk has no more whole frame and nothing points
   * into it. Returns false if there is no next chunk.
   */
  advance(): boolean {
    if (this.#chunk.length >= DROPPED_BYTES_MIN) dropBytes(this.#chunk);
    this.#chunk = EMPTY_BYTES;
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.parser.trim();
      return false;
    }
    this.#waitingBytes -= next.length;
    this.#load(next);
    return true;
  }

  /** Whether the current frame lies in the chunk, which stays unchanged until `advance`. */
  get isFrameInChunk(): boolean {
    return this.parser.buffer === this.#chunk;
  }

  /** Whether running frames could make progress. */
  get isRunnable(): boolean {
    return this.holds === 0 && this.#chunk.length > 0;
  }

  /** Whether the transport is being read. */
  get isReading(): boolean {
    return !this.#isPaused;
  }

  /**
   * Pauses or resumes the transport by the holds and the waiting bytes. A client that does not take its
   * output is still read until its bytes fill their room, because input shows that it is alive.
   */
  sync(): void {
    const isHeld = (this.holds & ~HOLD_OUTPUT) !== 0;
    const isPaused = isHeld || this.#waitingBytes > this.waitingBytesMax;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#transport.pause();
    else this.#transport.resume();
  }

  /** Drops all input; nothing will be run any more. */
  clear(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#chunk = EMPTY_BYTES;
    this.holds = 0;
  }
}
