// The bytes a client has sent and the connection has not run yet: the parser, the chunks behind it and
// the reasons for which nothing may be run. Pauses the transport when it should not bring more.
// Knows no frames' meaning.

import { FrameParser } from "../amqp/frame_parser.ts";
import { dropBytes, EMPTY_BYTES } from "../lib/bytes.ts";
import type { Transport } from "./transport.ts";

/** Hold: memory is short and the client has published. */
export const HOLD_MEMORY = 1;
/** Hold: the client does not take its output. */
export const HOLD_OUTPUT = 2;
/** Hold: a frame waits for the store, those behind it have to wait too. */
export const HOLD_STORE = 4;
/** Hold: consumers have to make up for what the client has published. */
export const HOLD_ADMISSION = 8;
/** Hold: the bodies of others have to arrive first. */
export const HOLD_CONTENT = 16;
/** Hold: a login, or the answer to a wrong one, has to wait. */
export const HOLD_LOGIN = 32;
/** Hold: what the client has settled is more than a turn's work. */
export const HOLD_SETTLE = 64;

// Small chunks are cheap to collect.
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
  /** Reading pauses when more bytes than this wait to be run. */
  waitingBytesMax: number;
  #chunk: Uint8Array = EMPTY_BYTES;
  #waitingBytes = 0;
  #isPaused = false;

  constructor(transport: Transport, waitingBytesMax: number) {
    this.#transport = transport;
    this.waitingBytesMax = waitingBytesMax;
  }

  /** Takes a chunk; it belongs to the input from now on. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    // Also a chunk whose last frame has been run stands in line until `advance`: others wait behind it.
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
   * The current chunk has no more whole frame, and nothing points into it: goes to the next one; false
   * if there is none.
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

  /** Whether the frame shown lies in the chunk, which stays as it is until `advance`. */
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
   * Pauses or resumes the transport as holds and waiting bytes demand. A client that does not take its
   * output is read on until its bytes fill their place: what arrives shows that it lives.
   */
  sync(): void {
    const isHeld = (this.holds & ~HOLD_OUTPUT) !== 0;
    const isPaused = isHeld || this.#waitingBytes > this.waitingBytesMax;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#transport.pause();
    else this.#transport.resume();
  }

  /** Drops everything: nothing will be run any more. */
  clear(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
    this.#chunk = EMPTY_BYTES;
    this.holds = 0;
  }
}
