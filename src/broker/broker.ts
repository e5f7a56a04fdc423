// The node: vhosts, the message store, timers, metrics and the work of a turn. The session layer calls
// beginTurn, runs its input, then dispatch and endTurn; management reads the same objects. The broker
// is given the time and randomness and never does I/O.

import type { Logger } from "../lib/logger.ts";
import { hostDelayMs } from "../schedule/host_timer.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import type { Store } from "../store/port.ts";
import { DeadLetters } from "./dead_letters.ts";
import { DelayedTable } from "./delayed_table.ts";
import { Delivery } from "./delivery.ts";
import { dispatchQueue } from "./dispatch.ts";
import { ExpirySweeps } from "./expiry_sweeps.ts";
import { type Limits, withinMemory } from "./limits.ts";
import { LoginThrottle } from "./login_throttle.ts";
import { Metrics } from "./metrics.ts";
import type { Queue } from "./queue.ts";
import { Timers } from "./timers.ts";
import type { Retries } from "./retries.ts";
import type { Users } from "./users.ts";
import { UnsafeDelays } from "./unsafe_delays.ts";
import { VHost } from "./vhost.ts";

const TIMERS_PER_TURN_MAX = 2048;
// More than can fire, so that what had to wait is made up for.
const DUE_PER_TURN_MAX = 4096;
// Each is a publish with its headers written anew; large ones count for more.
const DEAD_LETTERS_PER_TURN_MAX = 512;
// Publishers come back when memory has fallen a little below the watermark, not at every byte.
const MEMORY_RESUME_RATIO = 0.95;

/** What a broker is made of. */
export interface BrokerOptions {
  store: Store;
  scheduler: Scheduler;
  limits: Limits;
  logger: Logger;
  users: Users;
  /** Numbers in [0, 1): jitter and generated names. */
  random: () => number;
}

/** One node. */
export class Broker {
  readonly store: Store;
  readonly scheduler: Scheduler;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly users: Users;
  readonly logins: LoginThrottle;
  readonly random: () => number;
  readonly metrics: Metrics = new Metrics();
  readonly timers: Timers;
  readonly delayedTable: DelayedTable = new DelayedTable();
  readonly unsafeDelays: UnsafeDelays = new UnsafeDelays();
  readonly deadLetters: DeadLetters;
  readonly expirySweeps: ExpirySweeps;
  /** The one delivery in the making; see delivery.ts. */
  readonly delivery: Delivery = new Delivery();
  readonly vhosts: Map<string, VHost> = new Map();
  /** Broker time of this turn, ms. */
  nowMs = 0;
  /** Bytes of memory that the session layer holds: outboxes and unfinished content. */
  extraMemoryBytes = 0;
  /** Bytes of memory for messages that stand apart because of their size; see apart_lane.ts. */
  apartBytes = 0;
  #scheduled: Queue[] = [];
  #dispatching: Queue[] = [];
  #isMemoryBlocked = false;
  /** Why publishers are blocked, as the log has been told, and since when. */
  #loggedReason: string | null = null;
  #blockedSinceMs = 0;
  #hasHousekeeping = false;
  /** Queues of which delayed messages are due. */
  readonly #dueRetries = new Set<Retries>();
  /** Some of them can be taken. */
  #hasDue = false;
  #lastQueueId = 0;
  /** What waited for a read that has ended. */
  #resumable: (() => void)[] = [];
  /** What the open batch held when housekeeping was done: entries of which no client is told. */
  #keptBatchBytes = 0;

  constructor(options: BrokerOptions) {
    this.store = options.store;
    this.scheduler = options.scheduler;
    this.limits = withinMemory(options.limits);
    this.logger = options.logger;
    this.users = options.users;
    this.logins = new LoginThrottle(options.users, options.logger);
    this.random = options.random;
    this.timers = new Timers(this.scheduler);
    this.deadLetters = new DeadLetters(this);
    this.expirySweeps = new ExpirySweeps();
    this.vhosts.set("/", new VHost(this, "/"));
  }

  /** An id that no queue of this node has had; ids are never used again. */
  takeQueueId(): number {
    return ++this.#lastQueueId;
  }

  /** Ids up to this one have been used in earlier lives of the node. */
  skipQueueIds(lastQueueId: number): void {
    this.#lastQueueId = Math.max(this.#lastQueueId, lastQueueId);
  }

  /**
   * Starts a turn at broker time `nowMs`, runs the timers that are due, at most a budget of them, and
   * what has waited for a read.
   */
  beginTurn(nowMs: number): void {
    this.nowMs = Math.max(this.nowMs, nowMs);
    this.expirySweeps.begin();
    this.scheduler.runDue(this.nowMs, TIMERS_PER_TURN_MAX);
    if (this.#dueRetries.size > 0) this.#takeDue();
    if (this.#resumable.length > 0) this.#resume();
  }

  /**
   * Runs `resume` when the next turn begins. Reads end between turns or behind the commit of one; what
   * goes on then changes queues as a frame does, and has to be written before a client sees its effect.
   */
  resumeInTurn(resume: () => void): void {
    this.#resumable.push(resume);
  }

  #resume(): void {
    const resumable = this.#resumable;
    this.#resumable = [];
    for (const resume of resumable) resume();
  }

  /** Delayed messages of a queue are due, or need not wait any more for others that are. */
  retryIsDue(retries: Retries): void {
    this.#dueRetries.add(retries);
    this.#hasDue = true;
  }

  // Equal times may be divided between two turns: those that are not all there wait for the next one.
  #takeDue(): void {
    const nextMs = this.scheduler.nextDueMs();
    const beforeMs = nextMs > this.nowMs ? Infinity : nextMs;
    let budget = DUE_PER_TURN_MAX;
    for (const retries of this.#dueRetries) {
      budget -= retries.takeDue(beforeMs, budget);
      if (!retries.delayed.hasDue) this.#dueRetries.delete(retries);
    }
    this.#hasDue = budget === 0;
  }

  /** Works off dead letters and delivers from every queue that changed. */
  dispatch(): void {
    let budget = DEAD_LETTERS_PER_TURN_MAX;
    do {
      budget -= this.deadLetters.run(budget);
      this.#dispatchScheduled();
    } while (this.deadLetters.hasWork && budget > 0);
    this.deadLetters.enter();
  }

  /** Ends the turn: its batch, a bounded step of housekeeping and the look at memory. */
  endTurn(): void {
    this.store.commit(this.nowMs);
    this.unsafeDelays.look(this.store);
    this.#hasHousekeeping = this.store.maintain(this.nowMs);
    this.#keptBatchBytes = this.store.openBatchBytes;
    const limit = this.limits.memoryBytesMax;
    const threshold = this.#isMemoryBlocked ? limit * MEMORY_RESUME_RATIO : limit;
    this.#isMemoryBlocked = this.memoryBytes > threshold;
    if (this.blockReason !== this.#loggedReason) this.#logBlocking();
  }

  #logBlocking(): void {
    const { blockReason: reason, nowMs, limits, memoryBytes } = this;
    const before = this.#loggedReason;
    this.#loggedReason = reason;
    if (reason === null) {
      const fields = { reason: before, blockedMs: Math.round(nowMs - this.#blockedSinceMs) };
      this.logger.log("info", "publishers are no longer blocked", fields);
      return;
    }
    if (before === null) this.#blockedSinceMs = nowMs;
    const { memoryBytesMax } = limits;
    this.logger.log("info", "publishers are blocked", { reason, memoryBytes, memoryBytesMax });
  }

  /**
   * Called before anything is sent to clients: what has been entered since the turn's batch ended, when a
   * channel or connection failed while it was answered, is written as well.
   */
  writeRest(): void {
    this.deadLetters.enter();
    if (this.store.openBatchBytes !== this.#keptBatchBytes) this.store.commit(this.nowMs);
  }

  /** Bytes of memory that messages need, wherever they are: what publishers wait for. */
  get memoryBytes(): number {
    return this.store.usedBytes + this.delayedTable.usedBytes + this.extraMemoryBytes +
      this.apartBytes;
  }

  /** Bytes of memory held for messages: what they need, and room for others. */
  get heldMemoryBytes(): number {
    return this.store.memoryBytes + this.delayedTable.memoryBytes + this.extraMemoryBytes +
      this.apartBytes;
  }

  /** Whether memory is above its watermark. */
  get isMemoryBlocked(): boolean {
    return this.#isMemoryBlocked;
  }

  /** Why publishers are to be blocked until there is room, as `connection.blocked` says it; or null. */
  get blockReason(): string | null {
    if (this.#isMemoryBlocked) return "low on memory";
    return this.store.isDiskLow ? "low on disk" : null;
  }

  /** Whether another turn should follow soon although nothing new has come. */
  get hasMoreWork(): boolean {
    return this.deadLetters.hasWork || this.#hasHousekeeping || this.#scheduled.length > 0 ||
      this.#hasDue || this.#resumable.length > 0 || this.expirySweeps.hasWork ||
      this.scheduler.nextDueMs() <= this.nowMs;
  }

  /** For how long to arm the host's timer, so that a turn runs when the next timer is due. */
  get wakeDelayMs(): number {
    return hostDelayMs(this.scheduler.nextDueMs(), this.nowMs);
  }

  /** The queue is looked at before the turn ends. */
  schedule(queue: Queue): void {
    if (queue.isScheduled || queue.isDeleted) return;
    queue.isScheduled = true;
    this.#scheduled.push(queue);
  }

  /** Any consumer of the queue may have capacity again: an outbox drained, flow went on. */
  markDirty(queue: Queue): void {
    queue.consumers.unblockAll();
    this.schedule(queue);
  }

  #dispatchScheduled(): void {
    const queues = this.#scheduled;
    this.#scheduled = this.#dispatching;
    this.#dispatching = queues;
    for (let index = 0; index < queues.length; index++) {
      const queue = queues[index]!;
      queue.isScheduled = false;
      if (queue.isDeleted) continue;
      dispatchQueue(queue, this.delivery);
      queue.dispatched();
    }
    queues.length = 0;
  }
}
