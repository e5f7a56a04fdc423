// The state that all connections of one engine share: the broker, the records that hot methods are read
// into, buffers, and the lists for the end of a turn. The engine owns it; it decides nothing.

import { ContentHeader } from "../amqp/content_header.ts";
import type { FieldTable } from "../amqp/field_value.ts";
import type { FrameParser } from "../amqp/frame_parser.ts";
import { PublishArguments, SettleArguments } from "../amqp/hot_methods.ts";
import { RawProperties } from "../amqp/raw_properties.ts";
import type { Broker } from "../broker/broker.ts";
import { contentBytesMax, type Limits, outputBytesMax } from "../broker/limits.ts";
import type { Logger } from "../lib/logger.ts";
import { Admission } from "./admission.ts";
import { BufferPool } from "./buffer_pool.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { handleFailure } from "./failure.ts";
import { HOLD_STORE } from "./input.ts";
import { Newcomers } from "./newcomers.ts";
import { unblock } from "./blocking.ts";
import { type OutputGate, OutputShare } from "./output_gate.ts";
import { Settling } from "./settling.ts";
import type { StoreWait } from "./store_wait.ts";
import { UnfinishedContent } from "./unfinished_content.ts";
import { UnreadPeers } from "./unread_peers.ts";
import { Zone } from "./zone.ts";

/** A connection that a timer would end. */
export interface Doubt {
  readonly connection: Connection;
  readonly timer: "deadline" | "heartbeat";
}

/** Timers of a connection. The engine implements them with the broker's scheduler. */
export interface ConnectionTimers {
  /** Replaces the one deadline of the connection, at which `onDeadline` is called. */
  setDeadline(connection: Connection, delayMs: number): void;
  clearDeadline(connection: Connection): void;
  /** Calls `heartbeat.fire(false)` once. */
  setHeartbeat(connection: Connection, delayMs: number): void;
  clearHeartbeat(connection: Connection): void;
  /** Calls `heartbeat.fire(true)` after pending input is read, unless a heartbeat timer is set before. */
  doubt(connection: Connection): void;
  /** Whether there are connections that a timer would end. */
  readonly hasDoubts: boolean;
  /** Takes these connections, to be judged after all pending input has been read. */
  takeDoubts(): Doubt[];
  /** Ends those that still must be ended. Call it in a turn. */
  judge(doubts: readonly Doubt[]): void;
}

/** Runs the frame that `frame` shows for a connection. The handlers implement it. */
export type FrameHandler = (connection: Connection, frame: FrameParser) => void;

/** The parts of {@linkcode SessionContext}. */
export interface ContextOptions {
  broker: Broker;
  logger: Logger;
  random: () => number;
  serverProperties: FieldTable;
  watchesPeers: boolean;
  handleFrame: FrameHandler;
  /** Has `admission.endWindow` called in a turn, after a delay of real time. */
  later: (delayMs: number) => void;
}

/** State shared by the connections of one engine. */
export class SessionContext {
  readonly broker: Broker;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly random: () => number;
  readonly serverProperties: FieldTable;
  /** Whether connections of peers that send no heartbeats are closed. */
  readonly watchesPeers: boolean;
  readonly handleFrame: FrameHandler;
  readonly zone: Zone = new Zone();
  readonly pool: BufferPool = new BufferPool();
  readonly admission: Admission;
  readonly unfinished: UnfinishedContent;
  readonly output: OutputShare;
  readonly unreadPeers: UnreadPeers;
  readonly newcomers: Newcomers;
  readonly settling: Settling;
  timers!: ConnectionTimers;

  readonly publishArguments: PublishArguments = new PublishArguments();
  readonly settleArguments: SettleArguments = new SettleArguments();
  readonly contentHeader: ContentHeader = new ContentHeader();
  readonly properties: RawProperties = new RawProperties();

  /** Connections that have output or must be looked at when the turn ends. */
  readonly touched: Connection[] = [];
  /** Channels with confirms to send, now or later. */
  readonly confirming: Channel[] = [];
  /** Gates of connections whose consumers were refused a delivery because of waiting output. */
  readonly shutGates: OutputGate[] = [];
  /** Connections that failed while they were written to. */
  readonly failing: Connection[] = [];
  /** Connections that are not read because memory or disk is short. */
  readonly blocked: Connection[] = [];
  /** Frames whose answer waits for the store. */
  storeWaits: StoreWait[] = [];
  /** Connections with input to run in a later turn. */
  readonly runnable: Connection[] = [];
  /** Number of connections after connection.open. */
  openCount = 0;
  /** Why publishers must be blocked, as of the beginning of the turn; null when they need not be. */
  blockReason: string | null = null;

  constructor(options: ContextOptions) {
    this.broker = options.broker;
    this.handleFrame = options.handleFrame;
    this.limits = options.broker.limits;
    this.logger = options.logger;
    this.random = options.random;
    this.serverProperties = options.serverProperties;
    this.admission = new Admission(options.later);
    this.watchesPeers = options.watchesPeers;
    this.unfinished = new UnfinishedContent({
      broker: this.broker,
      zone: this.zone,
      bytesMax: contentBytesMax(this.limits),
      watchesPeers: this.watchesPeers,
    });
    this.output = new OutputShare(outputBytesMax(this.limits));
    this.unreadPeers = new UnreadPeers(this.broker, this.zone);
    this.newcomers = new Newcomers(this.broker);
    this.settling = new Settling(this);
  }

  /**
   * After the turn's batch is closed: sends safe answers and confirms, and releases or unblocks
   * publishers.
   */
  settle(): void {
    if (this.storeWaits.length > 0) this.#resumeWaits();
    if (this.confirming.length > 0) this.#settleConfirms();
    this.admission.settle();
    this.unfinished.settle();
    if (this.blocked.length > 0 && this.broker.blockReason === null) {
      for (const connection of this.blocked) unblock(connection);
      this.blocked.length = 0;
    }
  }

  #resumeWaits(): void {
    const { safeBatch } = this.broker.safety;
    const waits = this.storeWaits;
    this.storeWaits = waits.filter(({ batch }) => batch > safeBatch);
    for (const { channel, batch, resume } of waits) {
      if (batch > safeBatch || channel.isReleased) continue;
      const { connection } = channel;
      connection.unhold(HOLD_STORE);
      try {
        resume();
      } catch (error) {
        handleFailure(connection, error);
      }
    }
  }

  #settleConfirms(): void {
    const { confirming } = this;
    let kept = 0;
    for (let index = 0; index < confirming.length; index++) {
      const channel = confirming[index]!;
      if (!channel.settleConfirms()) confirming[kept++] = channel;
    }
    confirming.length = kept;
  }

  /** Ends the connections that failed in this turn. What they give back must be written afterwards. */
  endFailing(): void {
    for (const connection of this.failing) connection.endFailed();
    this.failing.length = 0;
  }

  /**
   * Does the one write of every connection with output. It changes nothing in the broker, because all
   * state that clients see now has been written before.
   */
  flush(): void {
    const { touched, shutGates } = this;
    // Dropping a connection while others are flushed may touch it once more.
    for (let index = 0; index < touched.length; index++) {
      touched[index]!.flush();
    }
    touched.length = 0;
    for (let count = shutGates.length; count > 0; count--) {
      const gate = shutGates.shift()!;
      if (!gate.reopen()) shutGates.push(gate);
    }
  }

  /** Whether another turn should follow soon even without new input. */
  get hasMoreWork(): boolean {
    return this.runnable.length > 0 || this.touched.length > 0 || this.settling.hasWork;
  }
}
