// The share of memory that content under way may take: bodies of several frames that have begun and not
// ended, over all connections. While it is used up, one connection at a time goes on and the others that
// have such bodies are not read; so each body arrives, and memory is never full of what cannot end.
// Messages whose body is one frame never wait here. One connection's own limit is the connection's.
//
//   bytes of content   ... max ─┐ over: leader A goes on      ┌ A has finished: B leads, or all go on
//   other connections           └ B held ... C held ..........┴

import { ConnectionError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { Broker } from "../broker/broker.ts";
import type { Connection } from "./connection.ts";
import { handleFailure } from "./failure.ts";
import { HOLD_ADMISSION, HOLD_CONTENT, HOLD_MEMORY, HOLD_STORE } from "./input.ts";
import type { Zone } from "./zone.ts";

/** The leader is judged this often, ms: */
const WINDOW_MS = 10_000;
/** it has to send at least this much in a window, bytes, */
const WINDOW_BYTES_MIN = 1_048_576;
/** unless we do not read it for one of these reasons. */
const EXCUSES = HOLD_MEMORY | HOLD_STORE | HOLD_ADMISSION;

/** What {@linkcode UnfinishedContent} is made of. */
export interface UnfinishedContentParts {
  broker: Broker;
  zone: Zone;
  /** Bytes above which one connection at a time goes on. */
  bytesMax: number;
  /** Whether a leader that sends nothing is closed; false where time does not pass by itself. */
  watchesPeers: boolean;
}

/** The unfinished content of one node. */
export class UnfinishedContent {
  /** Bytes held, over all connections. */
  bytes = 0;
  readonly #parts: UnfinishedContentParts;
  readonly #windows: number;
  /** The one that goes on while there is too much. */
  #leader: Connection | null = null;
  /** Those that are held, longest first. */
  readonly #waiting: Connection[] = [];
  #isWindowOpen = false;
  /** Who led when the window began and was read ever since, and what it had sent by then. */
  #judged: Connection | null = null;
  #judgedBytes = 0;

  constructor(parts: UnfinishedContentParts) {
    this.#parts = parts;
    this.#windows = parts.broker.scheduler.openGroup(() => this.#endWindow());
  }

  /** What the connection holds has become more or less. */
  changed(connection: Connection, deltaBytes: number): void {
    this.bytes += deltaBytes;
    if (deltaBytes > 0) this.begins(connection);
    else if (connection === this.#leader && connection.memory.contentBytes === 0) {
      this.#leader = null;
    }
  }

  /** The connection is about to hold more: it leads, waits, or goes on because there is room. */
  begins(connection: Connection): void {
    if (this.bytes <= this.#parts.bytesMax || connection === this.#leader) return;
    if (this.#leader === null) {
      this.#leader = connection;
      return;
    }
    if ((connection.input.holds & HOLD_CONTENT) !== 0) return;
    connection.hold(HOLD_CONTENT);
    this.#waiting.push(connection);
    if (!this.#isWindowOpen) this.#openWindow();
  }

  /** The leader is read again after it was not: that time does not count against it. */
  resumed(connection: Connection): void {
    if (connection === this.#judged) this.#judged = null;
  }

  /** The connection has given back everything. */
  gone(connection: Connection): void {
    if (connection === this.#leader) this.#leader = null;
    if (connection === this.#judged) this.#judged = null;
    const index = this.#waiting.indexOf(connection);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  /** The turn is over: whoever need not wait any longer goes on. */
  settle(): void {
    if (this.bytes <= this.#parts.bytesMax) {
      this.#leader = null;
      for (const connection of this.#waiting.splice(0)) connection.unhold(HOLD_CONTENT);
      return;
    }
    if (this.#leader !== null) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#leader = next;
    next.unhold(HOLD_CONTENT);
  }

  #openWindow(): void {
    const { broker, watchesPeers } = this.#parts;
    if (!watchesPeers) return;
    this.#isWindowOpen = true;
    this.#judged = this.#leader;
    this.#judgedBytes = this.#leader?.input.receivedBytes ?? 0;
    broker.scheduler.insert(this.#windows, broker.nowMs + WINDOW_MS, 0);
  }

  // A timer fires inside the broker's zone, and what is called here is session code.
  #endWindow(): void {
    const { zone } = this.#parts;
    this.#isWindowOpen = false;
    zone.isBroker = false;
    this.#judge();
    zone.isBroker = true;
    if (this.#waiting.length > 0) this.#openWindow();
  }

  #judge(): void {
    const judged = this.#judged;
    if (judged === null || judged !== this.#leader || this.#waiting.length === 0) return;
    if ((judged.input.holds & EXCUSES) !== 0) return;
    if (judged.input.receivedBytes - this.#judgedBytes >= WINDOW_BYTES_MIN) return;
    const detail = "unfinished content makes others wait and does not go on";
    handleFailure(judged, new ConnectionError(RESOURCE_ERROR, detail));
  }
}
