// The output of one connection: every frame of a turn is written here and handed to the transport with
// one write at the end of the turn. It knows how much the client has not taken yet, so that dispatch
// stops in time. It never writes to the transport in the middle of a turn.

import { ByteWriter } from "../lib/byte_writer.ts";
import { EMPTY_BYTES } from "../lib/bytes.ts";
import type { BufferPool } from "./buffer_pool.ts";
import type { Transport } from "./transport.ts";

/** The output of one connection. */
export class Outbox {
  /** The writer of frames; valid only after {@linkcode open} in the same turn. */
  readonly writer: ByteWriter = new ByteWriter();
  /** Bytes that the transport was given and the kernel had not taken at the last flush. */
  pendingBytes = 0;
  /** All bytes ever given to the transport. */
  sentBytes = 0;
  /** Last time, ms, at which the kernel was seen to take bytes or there were none to take. */
  movedAtMs = 0;
  #takenBytes = 0;
  readonly #transport: Transport;
  readonly #pool: BufferPool;

  constructor(transport: Transport, pool: BufferPool) {
    this.#transport = transport;
    this.#pool = pool;
    this.writer.bytes = EMPTY_BYTES;
  }

  /** Makes the writer ready; cheap when it already is. */
  open(): void {
    if (this.writer.bytes.length === 0) this.writer.bytes = this.#pool.take();
  }

  /** Bytes that the client has not got: written in this turn or waiting in the transport. */
  get waitingBytes(): number {
    return this.writer.byteCount + this.pendingBytes;
  }

  /** Gives the turn's bytes to the transport at `nowMs`. Returns true when there were any. */
  flush(nowMs: number): boolean {
    const { writer } = this;
    const byteCount = writer.byteCount;
    if (byteCount > 0) {
      if (this.pendingBytes === 0) this.movedAtMs = nowMs;
      const next = this.#transport.write(writer.bytes, byteCount);
      this.#pool.give(next);
      this.sentBytes += byteCount;
      this.pendingBytes = this.#transport.pendingBytes;
      this.look(nowMs);
    } else if (writer.bytes.length > 0) {
      this.#pool.give(writer.bytes);
    }
    writer.bytes = EMPTY_BYTES;
    writer.byteCount = 0;
    return byteCount > 0;
  }

  /** Notes whether the kernel has taken bytes since the last look. */
  look(nowMs: number): void {
    const takenBytes = this.sentBytes - this.#transport.pendingBytes;
    if (takenBytes === this.#takenBytes) return;
    this.#takenBytes = takenBytes;
    this.movedAtMs = nowMs;
  }

  /** Called when the transport has no more waiting bytes. */
  drained(): void {
    this.pendingBytes = 0;
  }

  /** Drops the bytes that were not given to the transport, because the stream is gone. */
  discard(): void {
    this.writer.byteCount = 0;
    this.pendingBytes = 0;
    this.flush(this.movedAtMs);
  }
}
