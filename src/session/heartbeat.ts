// Whether both ends of a connection still live. We send a heartbeat when we have said nothing for half
// an interval (AMQP 0-9-1 section 4.2.7). The peer is given up when it has missed two, or when its
// socket takes nothing of what waits for it. Driven by a timer of the connection, which is armed for
// the earliest of these times. Time in which we do not read does not count as silence of the peer.

import { writeHeartbeat } from "../amqp/hot_frames.ts";
import type { Connection } from "./connection.ts";
import { STATE_RUNNING } from "./connection_state.ts";

const HALF_SECOND_MS = 500;
/**
 * A socket may take nothing for this long, however short the heartbeats are. The kernel says that
 * there is room only when a third of its buffer is free, which is up to a megabyte: a slow reader
 * needs time for that.
 */
const STALL_MS_MIN = 20_000;
/** Without heartbeats a waiting output is looked at this often within its limit. */
const LOOKS_PER_STALL = 4;

/** The heartbeat of a connection that is in use. */
export class Heartbeat {
  /** Negotiated interval; 0 = off. */
  intervalSeconds = 0;
  /** Last time the peer was heard, or was not listened to. */
  heardAtMs: number;
  /** Last time we said something. */
  wroteAtMs: number;
  readonly #connection: Connection;
  #isArmed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.heardAtMs = connection.context.broker.nowMs;
    this.wroteAtMs = this.heardAtMs;
  }

  /** Begins with the negotiated interval. */
  start(intervalSeconds: number): void {
    const { nowMs } = this.#connection.context.broker;
    this.intervalSeconds = intervalSeconds;
    this.heardAtMs = nowMs;
    this.wroteAtMs = nowMs;
    if (intervalSeconds > 0) this.#arm();
  }

  /** The socket was given something. Without heartbeats this is what begins the watch. */
  wrote(): void {
    const { context, outbox } = this.#connection;
    this.wroteAtMs = context.broker.nowMs;
    if (outbox.pendingBytes > 0 && !this.#isArmed) this.#arm();
  }

  /**
   * A heartbeat is due, or the peer seems to be gone. It is given up only when `isSure`: when
   * everything that has arrived has been read.
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

  // Why the peer counts as gone, as far as is known now; null while it does not.
  #complaint(): string | null {
    const { context, input, outbox } = this.#connection;
    const { nowMs } = context.broker;
    if (!input.isReading || !context.watchesPeers) this.heardAtMs = nowMs;
    outbox.look(nowMs);
    if (nowMs >= this.#silentDueMs()) return "missed heartbeats from client";
    return nowMs >= this.#stallDueMs() ? "client does not take its output" : null;
  }

  // Sends a heartbeat if it is time for one, and arms the timer for what is due next.
  #beat(): void {
    const { context, outbox } = this.#connection;
    const { nowMs } = context.broker;
    this.#isArmed = false;
    if (nowMs >= this.#sendDueMs()) {
      // What still waits in the socket breaks the silence by itself when the peer reads.
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
