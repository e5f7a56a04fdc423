// Whether a client may be given more deliveries: while it takes its output, and while what waits for all
// clients together leaves room. Every connection has one; its channels ask it, and the end of a turn asks
// those that said no. A client whose small messages have to wait for others' large ones does not exist:
// everybody may have a little waiting, and only what is large waits for the share of the node.

import type { Connection } from "./connection.ts";
import type { SessionContext } from "./context.ts";

/** What every client may have waiting, however little room there is; a larger body counts as large. */
const SMALL_BYTES = 65_536;

/** Whether messages of so many bytes are large on average. */
export function areLarge(byteCount: number, messageCount: number): boolean {
  return byteCount > messageCount * SMALL_BYTES;
}

/** Output that waits, over all connections. */
export class OutputShare {
  /** Bytes that wait. */
  bytes = 0;
  readonly #bytesMax: number;

  /** All output together should stay below `bytesMax`. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether a large body has to wait. */
  get isUsedUp(): boolean {
    return this.bytes >= this.#bytesMax;
  }

  /** What one client may have waiting of its `limit`: as much as is left for others, or a little. */
  waitingBytesMax(limit: number): number {
    return Math.min(limit, Math.max(SMALL_BYTES, this.#bytesMax - this.bytes));
  }
}

/** Lets deliveries through to one client. */
export class OutputGate {
  readonly #connection: Connection;
  readonly #context: SessionContext;
  #isShut = false;
  /** Whether something large has been turned away. */
  #isShutToLarge = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#context = connection.context;
  }

  /** Whether the next delivery may go out; when not, its consumers are told as soon as it may. */
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

  /** After output has left: consumers that were refused may go on. True when they do. */
  reopen(): boolean {
    if (!this.#hasRoom(this.#isShutToLarge)) return false;
    this.#isShut = false;
    this.#isShutToLarge = false;
    for (const channel of this.#connection.channels) channel?.resume();
    return true;
  }
}
