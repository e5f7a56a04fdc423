// Drives everything by turns: an event of the host comes in, the clock is read once, frames are run
// within a budget, queues that changed are dispatched, the batch is closed, confirms and frames leave
// with one write per connection, and the host timer is armed again. Only this file decides when things
// happen; other files decide what happens.

import { CONNECTION_FORCED } from "../amqp/reply_code.ts";
import type { Broker } from "../broker/broker.ts";
import { AssertionError } from "../lib/assert.ts";
import type { Logger } from "../lib/logger.ts";
import { Connection } from "./connection.ts";
import { handleFrame } from "./handlers/frame_switch.ts";
import { SessionContext } from "./context.ts";
import type { HostLoop } from "./host_loop.ts";
import type { ProductInfo } from "./server_properties.ts";
import { serverProperties } from "./server_properties.ts";
import { SchedulerTimers } from "./timers.ts";
import type { Transport, TransportEvents, TransportInfo } from "./transport.ts";

/** Broker time; schedule/broker_time.ts implements it over the host's clocks. */
export interface TurnTime {
  /** Broker time now, ms. It never goes back. Called once per turn. */
  nowMs(): number;
}

/** The parts of an engine. */
export interface EngineOptions {
  broker: Broker;
  time: TurnTime;
  loop: HostLoop;
  logger: Logger;
  product: ProductInfo;
  /** Returns random numbers in [0, 1), for generated consumer tags. */
  random: () => number;
  /** Whether connections of silent peers are closed; false with a virtual clock. */
  watchesPeers?: boolean;
  /** Called when the broker itself failed: the node must stop without writing anything more. */
  fatal: (error: unknown) => void;
}

// Connections that wait to run input share this many budgets per turn.
const BUDGETS_PER_TURN = 4;
// This many streams above the connection limit may be open, so that they can be told about the limit.
const REFUSED_STREAMS_MAX = 64;

const IGNORED: TransportEvents = { received() {}, drained() {}, closed() {} };

/** The session layer of one node. */
export class Engine {
  readonly #context: SessionContext;
  readonly #broker: Broker;
  readonly #time: TurnTime;
  readonly #loop: HostLoop;
  readonly #fatal: (error: unknown) => void;
  readonly #connections = new Map<number, Connection>();
  #lastId = 0;
  #isInTurn = false;
  #isDead = false;
  #isClosed = false;
  #isSoonAsked = false;
  /** Whether the store has finished something that a turn must look at. */
  #isWoken = false;
  /** Whether pending input has been requested from the loop, before connections are judged. */
  #isLooking = false;
  /** Rises each time the loop has had a chance to poll every stream. */
  #round = 1;
  #armedDueMs = Infinity;
  #deferred: (() => void)[] = [];
  #closing: (() => void) | null = null;

  constructor(options: EngineOptions) {
    const { broker, logger, random } = options;
    this.#broker = broker;
    this.#time = options.time;
    this.#loop = options.loop;
    this.#fatal = options.fatal;
    this.#context = new SessionContext({
      broker,
      logger,
      random,
      serverProperties: serverProperties(options.product),
      later: (delayMs) => this.#loop.later(delayMs, this.#onLater),
      watchesPeers: options.watchesPeers ?? true,
      handleFrame,
    });
    broker.onStoreWake(() => {
      this.#isWoken = true;
      this.#askSoon();
    });
    this.#context.timers = new SchedulerTimers(this.#context, this.#connections);
  }

  /** All connections whose stream is open. */
  get connections(): Iterable<Connection> {
    return this.#connections.values();
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Takes a stream that the runtime has accepted. */
  accept(transport: Transport, info: TransportInfo): TransportEvents {
    const limit = this.#broker.limits.connectionCountMax + REFUSED_STREAMS_MAX;
    const isFull = this.#connections.size >= limit;
    const isRefused = this.#isDead || this.#closing !== null || isFull;
    if (isRefused || !this.#context.newcomers.admit(info.peerHost)) {
      transport.destroy();
      return IGNORED;
    }
    let connection!: Connection;
    const make = () => {
      connection = new Connection(++this.#lastId, transport, info, this.#context);
      this.#connections.set(connection.id, connection);
      this.#broker.metrics.connectionsOpened++;
    };
    if (this.#isInTurn) make();
    else this.#turn(make);
    return {
      received: (bytes) => this.#received(connection, bytes),
      drained: () => this.#turn(() => connection.drained()),
      closed: () => this.#turn(() => this.#closed(connection)),
    };
  }

  /** Runs `run` as a turn of its own, for management and tests. */
  turn<T>(run: () => T): T {
    let result!: T;
    let thrown: { error: unknown } | null = null;
    this.#turn(() => {
      try {
        result = run();
      } catch (error) {
        // A refusal is thrown to the caller; a broken assertion of the broker stops the node.
        if (error instanceof AssertionError) throw error;
        thrown = { error };
      }
    });
    if (thrown !== null) throw (thrown as { error: unknown }).error;
    return result;
  }

  /**
   * Closes every connection with 320. Resolves when all are gone, at the latest after `graceMs`, and when
   * the dead letters are published that no start would find. No new connections are accepted.
   */
  close(graceMs = 3000): Promise<void> {
    return new Promise((resolve) => {
      this.#closing = resolve;
      this.#turn(() => {
        for (const connection of [...this.#connections.values()]) {
          const reason = "broker forced connection closure with reason 'shutdown'";
          connection.force(CONNECTION_FORCED, reason);
          this.#context.timers.setDeadline(connection, graceMs);
        }
      });
      this.#endClosing();
    });
  }

  /** Runs no more turns, because the objects that they use are about to be closed. */
  halt(): void {
    this.#isDead = true;
    this.#loop.disarm();
  }

  // --- turns

  // The hot entry: it does the same as #turn without a closure per event.
  #received(connection: Connection, bytes: Uint8Array): void {
    if (this.#isInTurn) {
      this.#deferred.push(() => this.#received(connection, bytes));
      this.#askSoon();
      return;
    }
    if (this.#isDead) return;
    try {
      this.#begin();
      connection.received(bytes);
      this.#run(connection);
      this.#end();
    } catch (error) {
      this.#die(error);
    }
  }

  // A connection has one budget until the loop has polled all streams, because a host may report
  // several chunks of one stream before it gets to the next stream.
  #run(connection: Connection): number {
    const { limits } = this.#broker;
    const isNewRound = connection.round !== this.#round;
    if (isNewRound) {
      connection.round = this.#round;
      connection.roundBytes = 0;
    }
    const left = limits.inputBytesPerTurn - connection.roundBytes;
    const spent = left > 0 ? connection.run(left) : 0;
    connection.roundBytes += spent;
    connection.enqueue();
    connection.input.sync();
    if (spent > 0) this.#askSoon();
    return spent;
  }

  #turn(run: () => void): void {
    if (this.#isInTurn) {
      this.#deferred.push(run);
      this.#askSoon();
      return;
    }
    if (this.#isDead) return;
    try {
      this.#begin();
      run();
      this.#end();
    } catch (error) {
      this.#die(error);
    }
    this.#endClosing();
  }

  #begin(): void {
    this.#isInTurn = true;
    const { zone } = this.#context;
    zone.isBroker = true;
    this.#broker.beginTurn(this.#time.nowMs());
    zone.isBroker = false;
    this.#context.settling.beginTurn();
    this.#context.blockReason = this.#broker.blockReason;
  }

  #end(): void {
    const { zone } = this.#context;
    zone.isBroker = true;
    this.#broker.dispatch();
    this.#broker.endTurn();
    zone.isBroker = false;
    this.#context.settle();
    this.#context.endFailing();
    zone.isBroker = true;
    this.#broker.writeRest();
    zone.isBroker = false;
    this.#context.flush();
    this.#isInTurn = false;
    this.#lookAtDoubts();
    if (this.#context.hasMoreWork || this.#broker.hasMoreWork) this.#askSoon();
    this.#arm();
  }

  #die(error: unknown): void {
    this.#isDead = true;
    this.#isInTurn = false;
    this.#loop.disarm();
    this.#fatal(error);
  }

  // --- the host loop

  #askSoon(): void {
    if (this.#isSoonAsked) return;
    this.#isSoonAsked = true;
    this.#loop.soon(this.#onSoon);
  }

  readonly #onSoon = (): void => {
    this.#isSoonAsked = false;
    this.#round++;
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const run of deferred) run();
    const isNeeded = this.#isWoken || this.#context.hasMoreWork || this.#broker.hasMoreWork;
    this.#isWoken = false;
    if (isNeeded) this.#turn(this.#runQueued);
  };

  readonly #runQueued = (): void => {
    const { runnable } = this.#context;
    if (runnable.length === 0) return;
    let left = this.#broker.limits.inputBytesPerTurn * BUDGETS_PER_TURN;
    for (let count = runnable.length; count > 0 && left > 0; count--) {
      const connection = runnable.shift()!;
      connection.isQueued = false;
      left -= this.#run(connection);
    }
  };

  readonly #onLater = (): void => {
    this.#turn(this.#endWindow);
  };

  readonly #endWindow = (): void => {
    this.#context.admission.endWindow();
  };

  // Connections that a timer would end are judged after pending input has been read.
  #lookAtDoubts(): void {
    const { timers } = this.#context;
    if (this.#isLooking || !timers.hasDoubts || this.#isClosed) return;
    this.#isLooking = true;
    const doubts = timers.takeDoubts();
    this.#loop.afterInput(() => {
      this.#isLooking = false;
      this.#turn(() => timers.judge(doubts));
    });
  }

  #arm(): void {
    const dueMs = this.#broker.scheduler.nextDueMs();
    // Firing too early does no harm, but firing too late does.
    if (dueMs >= this.#armedDueMs || this.#isClosed) return;
    // A timer that is due already is run by the turn that has been asked for, so that a round has one
    // turn and not two.
    if (this.#isSoonAsked && dueMs <= this.#broker.nowMs) return;
    this.#armedDueMs = dueMs;
    this.#loop.arm(this.#broker.wakeDelayMs, this.#onTimer);
  }

  readonly #onTimer = (): void => {
    this.#armedDueMs = Infinity;
    this.#turn(() => {});
  };

  // --- connections

  #closed(connection: Connection): void {
    if (!this.#connections.delete(connection.id)) return;
    connection.closed();
    this.#broker.metrics.connectionsClosed++;
  }

  #endClosing(): void {
    if (this.#closing === null) return;
    const isBusy = this.#connections.size > 0 || this.#context.settling.hasWork ||
      this.#broker.deadLetters.transientBacklog > 0;
    if (isBusy && !this.#isDead) return;
    const resolve = this.#closing;
    this.#closing = () => {};
    this.#isClosed = true;
    this.#loop.disarm();
    resolve();
  }
}
