// The node: vhosts, the message store, timers, metrics and the work of a turn. The session layer calls
// beginTurn, runs its input, then dispatch and endTurn; management reads the same objects. The broker
// is given the time and randomness and never does I/O.

import type { Logger } from "../lib/logger.ts";
import { hostDelayMs } from "../schedule/host_timer.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import type { Store } from "../store/port.ts";
import { DeadLetters } from "./dead_letters/dead_letters.ts";
import { DelayedTable } from "./retry/delayed_table.ts";
import { Delivery } from "./queue/delivery.ts";
import { dispatchQueue } from "./queue/dispatch.ts";
import { ExpirySweeps } from "./queue/expiry_sweeps.ts";
import { type Limits, withinMemory } from "./limits.ts";
import { LoginThrottle } from "./access/login_throttle.ts";
import { Metrics } from "./metrics.ts";
import type { Queue } from "./queue/queue.ts";
import { Safety } from "./safety.ts";
import { Timers } from "./timers.ts";
import type { Retries } from "./retry/retries.ts";
import type { Users } from "./access/users.ts";
import { UnsafeDelays } from "./retry/unsafe_delays.ts";
import { VHost } from "./topology/vhost.ts";

const TIMERS_PER_TURN_MAX = 2048;
// Larger than TIMERS_PER_TURN_MAX, so that messages that had to wait are caught up with.
const DUE_PER_TURN_MAX = 4096;
// Each dead letter is a publish with its headers written anew; a large one counts for more. The first
// turns run code that is not compiled yet, and 512 letters then took 25 to 40 ms.
const DEAD_LETTERS_PER_TURN_MAX = 64;
// Publishers resume below this part of the watermark, so that they are not blocked and resumed by turns.
const MEMORY_RESUME_RATIO = 0.95;

/** The parts that a broker is made of. */
export interface BrokerOptions {
  store: Store;
  scheduler: Scheduler;
  limits: Limits;
  logger: Logger;
  users: Users;
  /** Returns random numbers in [0, 1), for jitter and generated names. */
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
  /** What sessions ask about the store. */
  readonly safety: Safety;
  readonly expirySweeps: ExpirySweeps;
  /** The one Delivery, filled anew for each message that is delivered; see delivery.ts. */
  readonly delivery: Delivery = new Delivery();
  readonly vhosts: Map<string, VHost> = new Map();
  /** Broker time of this turn, ms. */
  nowMs = 0;
  /** Bytes of memory that the session layer holds: outboxes and unfinished content. */
  extraMemoryBytes = 0;
  /**
   * Bytes of memory for messages that stand apart because of the size of their header; see
   * apart_lane.ts.
   */
  apartBytes = 0;
  #scheduled: Queue[] = [];
  #dispatching: Queue[] = [];
  #isMemoryBlocked = false;
  /** The reason for blocking publishers that was logged last; null when they are not blocked. */
  #loggedReason: string | null = null;
  #blockedSinceMs = 0;
  #hasHousekeeping = false;
  /** The retry sides of queues that have due delayed messages. */
  readonly #dueRetries = new Set<Retries>();
  /** Whether some of the due messages can be taken in the next turn. */
  #hasDue = false;
  #lastQueueId = 0;
  /** Work that waited for a read that has ended. */
  #resumable: (() => void)[] = [];
  /** Bytes in the open batch after housekeeping; no client is told of these entries. */
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
    this.safety = new Safety(this.store, this.deadLetters);
    this.expirySweeps = new ExpirySweeps();
    this.vhosts.set("/", new VHost(this, "/"));
  }

  /** Has `wake` called when the store has finished something and a turn should follow. */
  onStoreWake(wake: () => void): void {
    this.store.onWake = wake;
  }

  /** Returns an id that no queue of this node has had. Ids are never reused. */
  takeQueueId(): number {
    return ++this.#lastQueueId;
  }

  /** Skips the ids up to this one, which earlier runs of the node have used. */
  skipQueueIds(lastQueueId: number): void {
    this.#lastQueueId = Math.max(this.#lastQueueId, lastQueueId);
  }

  /**
   * Starts a turn at broker time `nowMs`: runs the timers that are due, up to a budget, brings back
   * delayed messages that are due, and resumes work that has waited for a read.
   */
  beginTurn(nowMs: number): void {
    this.nowMs = Math.max(this.nowMs, nowMs);
    this.expirySweeps.begin();
    this.scheduler.runDue(this.nowMs, TIMERS_PER_TURN_MAX);
    if (this.#dueRetries.size > 0) this.#takeDue();
    if (this.#resumable.length > 0) this.#resume();
  }

  /**
   * Runs `resume` when the next turn begins. A read ends between turns or after the commit of a turn.
   * The resumed work changes queues as a frame does, so its entries must be written before a client
   * sees its effect.
   */
  resumeInTurn(resume: () => void): void {
    this.#resumable.push(resume);
  }

  #resume(): void {
    const resumable = this.#resumable;
    this.#resumable = [];
    for (const resume of resumable) resume();
  }

  /**
   * Called when delayed messages of a queue are due, or when due messages no longer wait for a page.
   */
  retryIsDue(retries: Retries): void {
    this.#dueRetries.add(retries);
    this.#hasDue = true;
  }

  // A turn may run only some of the timers with one due time. Their messages then wait for the next
  // turn, so that all messages of that time go back in order.
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

  /** Publishes dead letters and delivers from every queue that changed. */
  dispatch(): void {
    let budget = DEAD_LETTERS_PER_TURN_MAX;
    do {
      budget -= this.deadLetters.run(budget);
      this.#dispatchScheduled();
    } while (this.deadLetters.hasWork && budget > 0);
    this.deadLetters.enter();
  }

  /**
   * Ends the turn: commits its batch, does a bounded step of housekeeping, and compares memory with
   * its watermark.
   */
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
   * Writes entries that were added after the turn's batch was committed, because a channel or
   * connection failed while it was answered. Called before anything is sent to clients.
   */
  writeRest(): void {
    this.deadLetters.enter();
    if (this.store.openBatchBytes !== this.#keptBatchBytes) this.store.commit(this.nowMs);
  }

  /** Bytes of memory that messages use, wherever they are. Publishers are blocked by this number. */
  get memoryBytes(): number {
    return this.store.usedBytes + this.delayedTable.usedBytes + this.extraMemoryBytes +
      this.apartBytes;
  }

  /** Bytes of memory allocated for messages, free room included. */
  get heldMemoryBytes(): number {
    return this.store.memoryBytes + this.delayedTable.memoryBytes + this.extraMemoryBytes +
      this.apartBytes;
  }

  /** Whether memory is above its watermark. */
  get isMemoryBlocked(): boolean {
    return this.#isMemoryBlocked;
  }

  /**
   * Why publishers must be blocked, in the words of `connection.blocked`; null when they need not be.
   */
  get blockReason(): string | null {
    if (this.#isMemoryBlocked) return "low on memory";
    return this.store.isDiskLow ? "low on disk" : null;
  }

  /** Whether another turn should follow soon even without new input. */
  get hasMoreWork(): boolean {
    return this.deadLetters.hasWork || this.#hasHousekeeping || this.#scheduled.length > 0 ||
      this.#hasDue || this.#resumable.length > 0 || this.expirySweeps.hasWork ||
      this.scheduler.nextDueMs() <= this.nowMs;
  }

  /** The delay for the host's timer, so that a turn runs when the next timer is due, ms. */
  get wakeDelayMs(): number {
    return hostDelayMs(this.scheduler.nextDueMs(), this.nowMs);
  }

  /** Has the queue dispatched before the turn ends. */
  schedule(queue: Queue): void {
    if (queue.isScheduled || queue.isDeleted) return;
    queue.isScheduled = true;
    this.#scheduled.push(queue);
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
      queue.ready.dispatched();
    }
    queues.length = 0;
  }
}
