// The two timers of a connection, its deadline and its heartbeat, on the broker's scheduler. Made by
// the engine. Fires inside Broker.beginTurn, so it guards what it calls.

import type { Broker } from "../broker/broker.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionTimers, SessionContext } from "./context.ts";
import { handleFailure } from "./failure.ts";

interface Handles {
  deadline: number;
  heartbeat: number;
}

/** Timers of connections, by connection id. */
export class SchedulerTimers implements ConnectionTimers {
  readonly #context: SessionContext;
  readonly #scheduler: Broker["scheduler"];
  readonly #connections: ReadonlyMap<number, Connection>;
  readonly #deadlines: number;
  readonly #heartbeats: number;
  readonly #handles = new WeakMap<Connection, Handles>();

  constructor(context: SessionContext, connections: ReadonlyMap<number, Connection>) {
    const { scheduler } = context.broker;
    this.#context = context;
    this.#scheduler = scheduler;
    this.#connections = connections;
    this.#deadlines = scheduler.openGroup((id) => {
      this.#fire(id, (connection) => {
        this.#handlesOf(connection).deadline = 0;
        connection.onDeadline();
      });
    });
    this.#heartbeats = scheduler.openGroup((id) => {
      this.#fire(id, (connection) => {
        this.#handlesOf(connection).heartbeat = 0;
        connection.onHeartbeat();
      });
    });
  }

  #handlesOf(connection: Connection): Handles {
    let handles = this.#handles.get(connection);
    if (handles === undefined) {
      handles = { deadline: 0, heartbeat: 0 };
      this.#handles.set(connection, handles);
    }
    return handles;
  }

  #fire(id: number, act: (connection: Connection) => void): void {
    const connection = this.#connections.get(id);
    if (connection === undefined) return;
    const { zone } = this.#context;
    zone.isBroker = false;
    try {
      act(connection);
    } catch (error) {
      handleFailure(connection, error);
    }
    zone.isBroker = true;
  }

  setDeadline(connection: Connection, delayMs: number): void {
    this.clearDeadline(connection);
    const dueMs = this.#context.broker.nowMs + delayMs;
    this.#handlesOf(connection).deadline = this.#scheduler.insert(
      this.#deadlines,
      dueMs,
      connection.id,
    );
  }

  clearDeadline(connection: Connection): void {
    const handles = this.#handlesOf(connection);
    if (handles.deadline > 0) this.#scheduler.cancel(handles.deadline);
    handles.deadline = 0;
  }

  setHeartbeat(connection: Connection, delayMs: number): void {
    this.clearHeartbeat(connection);
    const dueMs = this.#context.broker.nowMs + delayMs;
    this.#handlesOf(connection).heartbeat = this.#scheduler.insert(
      this.#heartbeats,
      dueMs,
      connection.id,
    );
  }

  clearHeartbeat(connection: Connection): void {
    const handles = this.#handlesOf(connection);
    if (handles.heartbeat > 0) this.#scheduler.cancel(handles.heartbeat);
    handles.heartbeat = 0;
  }
}
