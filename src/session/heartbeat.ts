// Checks whether both ends of a connection are alive. We send a heartbeat after half an interval
// without output (AMQP 0-9-1 section 4.2.7). The connection is closed when the peer has missed two
// heartbeats, or when its socket takes none of the waiting output. A timer of the connection, armed for
// the earliest of these times, drives it. Time in which we do not read does not count as silence of the
// peer.

import { writeHeartbeat } from "../amqp/hot_frames.ts";
import type { Connection } from "./connection.ts";
import { STATE_RUNNING } from "./connection_state.ts";

const HALF_SECOND_MS = 500;
/**
 * A socket may take nothing for this long, however short the heartbeat interval is, ms. The kernel
 * reports room only when a third of its buffer is free, which is up to a megabyte, and a slow reader
 * needs time for that.
 */
const STALL_MS_MIN = 20_000;
/** Without heartbeats, waiting output is checked this many times within its limit. */
const LOOKS_PER_STALL = 4;

/** The heartbeat of a running connection. */
export class Heartbeat {
  /** Negotiated interval; 0 means off. */
  intervalSeconds = 0;
  /** Last time, ms, at which the peer was heard or was not being read. */
  heardAtMs: number;
  /** Last time at which we sent something, ms. */
  wroteAtMs: number;
  readonly #connection: Connection;
  #isArmed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.heardAtMs = connection.context.broker.nowMs;
    this.wroteAtMs = this.heardAtMs;
  }

  /** Starts with the negotiated interval. */
  start(intervalSeconds: number): void {
    const { nowMs } = this.#connection.context.broker;
    this.intervalSeconds = intervalSeconds;
    this.heardAtMs = nowMs;
    this.wroteAtMs = nowMs;
    if (intervalSeconds > 0) this.#arm();
  }

  /** Called when the socket was given output. Without heartbeats, this starts the watch of the output. */
  wrote(): void {
    const { context, outbox } = this.#connection;
    this.wroteAtMs = context.broker.nowMs;
    if (outbox.pendingBytes > 0 && !this.#isArmed) this.#arm();
  }

  /**
   * Called when a heartbeat is due or the peer seems to be gone. The connection is closed only when
   * `isSure`, which means that all pending input has been read.
   */
  fire(isSure: boolean): void {
    const connection = this.#connection;
    if (connection.state !== STATE_RUNNING) return;
    const complaint = this.#complaint();
    if (complaint === null) return this.#beat();
    const { timers, logger } = connection.context;
    if (!isSure) return timers.doubt(connection);
    const fields = { connection: connection.name, timeoutSeconds: this.intervalSeconds };
    logger.log("warn", complaint, fields);
    connection.destroy();
  }

  // Returns why the peer seems to be gone, as far as is known now; null while it does not.
  #complaint(): string | null {
    const { context, input, outbox } = this.#connection;
    const { nowMs } = context.broker;
    if (!input.isReading || !context.watchesPeers) this.heardAtMs = nowMs;
    outbox.look(nowMs);
    if (nowMs >= this.#silentDueMs()) return "missed heartbeats from client";
    return nowMs >= this.#stallDueMs() ? "client does not take its output" : null;
  }

  // Sends a heartbeat if it is due, and arms the timer for the next due time.
  #beat(): void {
    const { context, outbox } = this.#connection;
    const { nowMs } = context.broker;
    this.#isArmed = false;
    if (nowMs >= this.#sendDueMs()) {
      // Output that still waits in the socket ends the silence by itself when the peer reads.
      if (outbox.waitingBytes === 0) writeHeartbeat(this.#connection.writer());
      this.wroteAtMs = nowMs;
    }
    if (this.intervalSeconds > 0 || outbox.pendingBytes > 0) this.#arm();
  }

  #arm(): void {
    const { context } = this.#connection;
    const { nowMs } = context.broker;
    this.#isArmed = true;
    let dueMs = Math.min(this.#sendDueMs(), this.#silentDueMs(), this.#stallDueMs());
    if (this.intervalSeconds === 0) {
      dueMs = Math.min(dueMs, nowMs + this.#stallMsMax / LOOKS_PER_STALL);
    }
    context.timers.setHeartbeat(this.#connection, dueMs - nowMs);
  }

  #sendDueMs(): number {
    if (this.intervalSeconds === 0) return Infinity;
    return this.wroteAtMs + this.intervalSeconds * HALF_SECOND_MS;
  }

  #silentDueMs(): number {
    if (this.intervalSeconds === 0) return Infinity;
    return this.heardAtMs + this.intervalSeconds * 4 * HALF_SECOND_MS;
  }

  #stallDueMs(): number {
    const { outbox, context } = this.#connection;
    if (outbox.pendingBytes === 0 || !context.watchesPeers) return Infinity;
    return outbox.movedAtMs + this.#stallMsMax;
  }

  get #stallMsMax(): number {
    if (this.intervalSeconds === 0) return this.#connection.context.limits.outputStallMs;
    return Math.max(this.intervalSeconds * 4 * HALF_SECOND_MS, STALL_MS_MIN);
  }
}
