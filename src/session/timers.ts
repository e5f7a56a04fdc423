// The two timers of a connection, its deadline and its heartbeat, on the broker's scheduler. The engine
// makes this. The timers fire inside Broker.beginTurn, so exceptions of session code are caught here. A
// timer does not end a connection at once: after this process has stood still (a sleeping laptop, a
// frozen container), the timer fires first, while input that proves it wrong is still unread in a
// socket.

import type { Broker } from "../broker/broker.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionTimers, Doubt, SessionContext } from "./context.ts";
import { handleFailure } from "./failure.ts";

/** In place of a handle: the timer has fired, and its connection waits to be judged. */
const FIRED = -1;

interface Handles {
  /** A handle of the scheduler, 0 for none, or {@linkcode FIRED}. */
  deadline: number;
  /** As for the deadline. */
  heartbeat: number;
}

/** The timers of all connections, by connection id. */
export class SchedulerTimers implements ConnectionTimers {
  readonly #context: SessionContext;
  readonly #scheduler: Broker["scheduler"];
  readonly #connections: ReadonlyMap<number, Connection>;
  readonly #deadlines: number;
  readonly #heartbeats: number;
  readonly #handles = new WeakMap<Connection, Handles>();
  readonly #doubts: Doubt[] = [];

  constructor(context: SessionContext, connections: ReadonlyMap<number, Connection>) {
    const { scheduler } = context.broker;
    this.#context = context;
    this.#scheduler = scheduler;
    this.#connections = connections;
    this.#deadlines = scheduler.openGroup((id) => {
      const connection = connections.get(id);
      if (connection !== undefined) this.#doubt(connection, "deadline");
    });
    this.#heartbeats = scheduler.openGroup((id) => {
      const connection = connections.get(id);
      if (connection === undefined) return;
      const { zone } = this.#context;
      this.#handlesOf(connection).heartbeat = 0;
      zone.isBroker = false;
      this.#guard(connection, () => connection.heartbeat.fire(false));
      zone.isBroker = true;
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

  #guard(connection: Connection, act: () => void): void {
    try {
      act();
    } catch (error) {
      handleFailure(connection, error);
    }
  }

  doubt(connection: Connection): void {
    this.#doubt(connection, "heartbeat");
  }

  #doubt(connection: Connection, timer: keyof Handles): void {
    this.#handlesOf(connection)[timer] = FIRED;
    this.#doubts.push({ connection, timer });
  }

  get hasDoubts(): boolean {
    return this.#doubts.length > 0;
  }

  takeDoubts(): Doubt[] {
    return this.#doubts.splice(0);
  }

  judge(doubts: readonly Doubt[]): void {
    for (const { connection, timer } of doubts) {
      const handles = this.#handlesOf(connection);
      // The timer was set or cleared meanwhile, so there is no doubt any more.
      if (handles[timer] !== FIRED) continue;
      handles[timer] = 0;
      if (!this.#connections.has(connection.id)) continue;
      this.#guard(connection, () => {
        if (timer === "deadline") connection.onDeadline();
        else connection.heartbeat.fire(true);
      });
    }
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
