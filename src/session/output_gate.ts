// Decides whether a client may be given more deliveries: while it takes its output, and while the
// waiting output of all clients together leaves room. Every connection has one; its channels ask it,
// and the end of a turn reopens gates that refused. Small messages of a client never wait for large
// messages of others: every client may have a little output waiting, and only large messages wait for
// the node's share.

import type { Connection } from "./connection.ts";
import type { SessionContext } from "./context.ts";

/**
 * Bytes that every client may have waiting, however little room there is. A larger body counts as
 * large.
 */
const SMALL_BYTES = 65_536;

/** Whether the average of these messages is large. */
export function areLarge(byteCount: number, messageCount: number): boolean {
  return byteCount > messageCount * SMALL_BYTES;
}

/** The output that waits, over all connections. */
export class OutputShare {
  /** Number of waiting bytes. */
  bytes = 0;
  readonly #bytesMax: number;

  /** All waiting output together should stay below `bytesMax`. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether a large body must wait. */
  get isUsedUp(): boolean {
    return this.bytes >= this.#bytesMax;
  }

  /**
   * Returns how much of its `limit` one client may have waiting: as much as others leave, but at least
   * a little.
   */
  waitingBytesMax(limit: number): number {
    return Math.min(limit, Math.max(SMALL_BYTES, this.#bytesMax - this.bytes));
  }
}

/** Admits deliveries to one client. */
export class OutputGate {
  readonly #connection: Connection;
  readonly #context: SessionContext;
  #isShut = false;
  /** Whether a large message has been refused. */
  #isShutToLarge = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#context = connection.context;
  }

  /** Whether the next delivery may be sent. If not, the consumers are resumed as soon as it may. */
  admits(isLarge: boolean): boolean {
    if (this.#hasRoom(isLarge)) return true;
    if (isLarge) this.#isShutToLarge = true;
    if (!this.#isShut) {
      this.#isShut = true;
      this.#context.shutGates.push(this);
    }
    return false;
  }

  #hasRoom(isLarge: boolean): boolean {
    const { output, limits } = this.#context;
    if (isLarge && output.isUsedUp) return false;
    const { waitingBytes } = this.#connection.outbox;
    return waitingBytes <= output.waitingBytesMax(limits.outboxBytesMax);
  }

  /** Called after output has left. Resumes refused consumers and returns true if there is room. */
  reopen(): boolean {
    if (!this.#hasRoom(this.#isShutToLarge)) return false;
    this.#isShut = false;
    this.#isShutToLarge = false;
    for (const channel of this.#connection.channels) channel?.resume();
    return true;
  }
}
