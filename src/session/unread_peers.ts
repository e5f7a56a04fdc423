// Finds out that a client is gone although its stream is not read. Reading would show the end of the
// stream; without it, only a write does. A client that is held for long is therefore sent a heartbeat
// frame now and then, even without negotiated heartbeats; a client must ignore such a frame (AMQP 0-9-1
// section 4.2.7).

import { writeHeartbeat } from "../amqp/hot_frames.ts";
import type { Broker } from "../broker/broker.ts";
import type { Connection } from "./connection.ts";
import { STATE_RUNNING } from "./connection_state.ts";
import { HOLD_CONTENT, HOLD_MEMORY, HOLD_STORE } from "./input.ts";
import type { Zone } from "./zone.ts";

/**
 * Interval between heartbeats to held clients, ms. After the first write the other machine reports that
 * the stream is dead; the second write finds that out.
 */
const INTERVAL_MS = 5_000;
/** Holds for which a client may be unread for long. */
const LONG_HOLDS = HOLD_CONTENT | HOLD_MEMORY | HOLD_STORE;

/** The held clients of one engine. */
export class UnreadPeers {
  readonly #broker: Broker;
  readonly #zone: Zone;
  readonly #timers: number;
  readonly #held = new Set<Connection>();
  #isArmed = false;

  constructor(broker: Broker, zone: Zone) {
    this.#broker = broker;
    this.#zone = zone;
    this.#timers = broker.scheduler.openGroup(() => this.#look());
  }

  /** Called when the connection is held for one of the reasons `HOLD_*`. */
  held(connection: Connection, reason: number): void {
    if ((reason & LONG_HOLDS) === 0) return;
    this.#held.add(connection);
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#broker.scheduler.insert(this.#timers, this.#broker.nowMs + INTERVAL_MS, 0);
  }

  // A timer fires inside the broker's zone, but this calls session code.
  #look(): void {
    this.#isArmed = false;
    this.#zone.isBroker = false;
    for (const connection of this.#held) {
      const isHeld = (connection.input.holds & LONG_HOLDS) !== 0;
      if (connection.state !== STATE_RUNNING || !isHeld) this.#held.delete(connection);
      // Waiting output finds a dead stream too.
      else if (connection.outbox.waitingBytes === 0) writeHeartbeat(connection.writer());
    }
    this.#zone.isBroker = true;
    if (this.#held.size > 0) this.#arm();
  }
}
