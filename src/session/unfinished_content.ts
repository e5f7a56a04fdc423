// The share of memory that unfinished content may use: bodies of several frames that have begun and not
// ended, over all connections. While the share is used up, one connection at a time continues, the
// leader, and the others with such bodies are not read. Each body thus arrives, and memory is never
// full of bodies that cannot end. Messages whose body is one frame never wait here. The limit of a
// single connection is in held_memory.ts.
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

/** Length of a window after which the leader is judged, ms. */
const WINDOW_MS = 10_000;
/** Bytes that the leader must send in a window; 1 MiB. */
const WINDOW_BYTES_MIN = 1_048_576;
/** Holds for which the leader is not judged, because we do not read it. */
const EXCUSES = HOLD_MEMORY | HOLD_STORE | HOLD_ADMISSION;

/** The parts of {@linkcode UnfinishedContent}. */
export interface UnfinishedContentParts {
  broker: Broker;
  zone: Zone;
  /** Above this number of bytes, one connection at a time continues. */
  bytesMax: number;
  /** Whether a leader that sends nothing is closed; false with a virtual clock. */
  watchesPeers: boolean;
}

/** The unfinished content of one node. */
export class UnfinishedContent {
  /** Bytes held, over all connections. */
  bytes = 0;
  readonly #parts: UnfinishedContentParts;
  readonly #windows: number;
  /** The connection that continues while there is too much content. */
  #leader: Connection | null = null;
  /** The connections that are held, the longest waiting first. */
  readonly #waiting: Connection[] = [];
  #isWindowOpen = false;
  /** The leader when the window began, if it has been read ever since; null otherwise. */
  #judged: Connection | null = null;
  /** Bytes that this leader had sent when the window began. */
  #judgedBytes = 0;

  constructor(parts: UnfinishedContentParts) {
    this.#parts = parts;
    this.#windows = parts.broker.scheduler.openGroup(() => this.#endWindow());
  }

  /** Called when the unfinished content of the connection has changed. */
  changed(connection: Connection, deltaBytes: number): void {
    this.bytes += deltaBytes;
    if (deltaBytes > 0) this.begins(connection);
    else if (connection === this.#leader && connection.memory.contentBytes === 0) {
      this.#leader = null;
    }
  }

  /**
   * Called before the connection holds more content: it becomes the leader, waits, or continues if
   * there is room.
   */
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

  /** Called when the connection is read again; the window does not count against the leader then. */
  resumed(connection: Connection): void {
    if (connection === this.#judged) this.#judged = null;
  }

  /** Called when the connection has given back everything. */
  gone(connection: Connection): void {
    if (connection === this.#leader) this.#leader = null;
    if (connection === this.#judged) this.#judged = null;
    const index = this.#waiting.indexOf(connection);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  /** Ends a turn: releases connections that need not wait any longer. */
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

  // A timer fires inside the broker's zone, but this calls session code.
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
