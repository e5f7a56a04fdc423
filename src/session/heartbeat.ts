// Heartbeats of one connection: a frame when half an interval passed in silence, and an end when the
// peer has missed two (AMQP 0-9-1 section 4.2.7). Driven by a timer of the engine every half
// interval. Time during which we do not read does not count against the peer.

import { writeHeartbeat } from "../amqp/hot_frames.ts";
import type { Connection } from "./connection.ts";

const HALF_SECOND_MS = 500;

/** The heartbeat of a connection that is in use. */
export class Heartbeat {
  /** Negotiated interval; 0 = off. */
  intervalSeconds = 0;
  /** Last time the peer was heard, or was not listened to. */
  heardAtMs: number;
  readonly #connection: Connection;
  #sentBytes = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.heardAtMs = connection.context.broker.nowMs;
  }

  /** Begins with the negotiated interval. */
  start(intervalSeconds: number): void {
    this.intervalSeconds = intervalSeconds;
    if (intervalSeconds > 0) this.#arm();
  }

  #arm(): void {
    const { context } = this.#connection;
    context.timers.setHeartbeat(this.#connection, this.intervalSeconds * HALF_SECOND_MS);
  }

  /** Half an interval has passed. False when the peer is dead. */
  beat(): boolean {
    const connection = this.#connection;
    const { broker: { nowMs }, watchesPeers } = connection.context;
    if (!connection.input.isReading || !watchesPeers) this.heardAtMs = nowMs;
    if (nowMs - this.heardAtMs >= this.intervalSeconds * 2000) return false;
    const { outbox } = connection;
    const wasSilent = outbox.sentBytes === this.#sentBytes && outbox.writer.byteCount === 0;
    if (wasSilent) writeHeartbeat(connection.writer());
    // What this turn writes is handed over when it ends.
    this.#sentBytes = outbox.sentBytes + outbox.writer.byteCount;
    this.#arm();
    return true;
  }
}
