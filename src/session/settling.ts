// Settles many deliveries in pieces, one per turn, so that a client that acks, rejects or returns
// hundreds of thousands of them makes no other client wait. Settlements within a turn's share are done
// by the handlers at once; only larger ones become jobs here. The effects of a piece are written with
// its turn. The client's later frames wait until the job is done. A queue to which messages are
// returned delivers nothing meanwhile, because they stand before its ready messages and must all be
// back first.
//
//   ack ≤ 500 000 │ turn: 8192 │ turn: 8192 │ … │ turn: the rest, then the client's next frame

import type { Queue } from "../broker/queue/queue.ts";
import {
  SETTLED_AS_ACKED,
  SETTLED_AS_RETURNED,
  type SettleRun,
} from "../broker/queue/settle_run.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { HOLD_SETTLE } from "./input.ts";
import type { SessionContext } from "./context.ts";

// The channels take turns; each gets 1 / PARTS of a turn's share.
const PARTS = 4;
// Up to share / AT_ONCE_PART deliveries are settled at once, even if the share of the turn is used up:
// the limit on input bounds the frames that do so.
const AT_ONCE_PART = 16;

interface Job {
  readonly runs: SettleRun[];
  /** Queues that deliver nothing until the job is done. */
  readonly queues: Set<Queue>;
}

interface Waiting {
  jobCount: number;
  readonly then: (() => void)[];
}

/** The settlements of one engine that take more than one turn. */
export class Settling {
  readonly #context: SessionContext;
  readonly #perTurn: number;
  #left: number;
  /** Jobs by channel. The first one is next. */
  readonly #jobs = new Map<Channel, Job>();
  readonly #waiting = new Map<Connection, Waiting>();

  constructor(context: SessionContext) {
    this.#context = context;
    this.#perTurn = context.limits.settledPerTurn;
    this.#left = this.#perTurn;
  }

  /** Whether there are settlements for later turns. */
  get hasWork(): boolean {
    return this.#jobs.size > 0;
  }

  /**
   * Whether this channel may settle the `count` deliveries of a frame at once. If not, the caller must
   * call {@linkcode begin}.
   */
  takesFrame(channel: Channel, count: number): boolean {
    if (count > this.#perTurn / AT_ONCE_PART) return this.takes(channel, count);
    return this.#jobs.size === 0 || !this.#jobs.has(channel);
  }

  /** The same for what a channel gives back: a client may close any number of them at once. */
  takes(channel: Channel, count: number): boolean {
    if (this.#jobs.size > 0 && this.#jobs.has(channel)) return false;
    if (count > this.#left) return count === 0;
    this.#left -= count;
    return true;
  }

  /** Settles a run from the next turn on, after earlier runs of the channel. */
  begin(channel: Channel, run: SettleRun): void {
    const { connection } = channel;
    let job = this.#jobs.get(channel);
    if (job === undefined) {
      job = { runs: [], queues: new Set() };
      this.#jobs.set(channel, job);
      this.#count(connection);
    }
    job.runs.push(run);
    if (run.how === SETTLED_AS_RETURNED) this.#pause(channel, job, run);
    connection.hold(HOLD_SETTLE);
  }

  #count(connection: Connection): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) this.#waiting.set(connection, { jobCount: 1, then: [] });
    else waiting.jobCount++;
  }

  #pause(channel: Channel, job: Job, run: SettleRun): void {
    channel.unacked.visitQueues(run, (queue) => {
      if (job.queues.has(queue)) return;
      job.queues.add(queue);
      queue.ready.returnBegan();
    });
  }

  /** Calls `then` when the connection has no more settlements under way, which may be at once. */
  whenDone(connection: Connection, then: () => void): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) then();
    else waiting.then.push(then);
  }

  /** Begins a turn: continues the jobs. */
  beginTurn(): void {
    this.#left = this.#perTurn;
    const part = Math.max(1, Math.floor(this.#perTurn / PARTS));
    while (this.#left > 0 && this.#jobs.size > 0) {
      const [channel, job] = this.#jobs.entries().next().value!;
      this.#jobs.delete(channel);
      this.#settleSome(channel, job, Math.min(part, this.#left));
      if (job.runs.length > 0) this.#jobs.set(channel, job);
      else this.#finish(channel, job);
    }
  }

  #settleSome(channel: Channel, job: Job, max: number): void {
    const { unacked, context } = channel;
    const { metrics } = context.broker;
    const run = job.runs[0]!;
    const before = unacked.count;
    this.#left -= Math.max(1, context.zone.run(() => unacked.settleSome(run, max)));
    if (run.isCounted) {
      if (run.how === SETTLED_AS_ACKED) metrics.acked += before - unacked.count;
      else metrics.rejected += before - unacked.count;
    }
    if (unacked.isOver(run)) job.runs.shift();
    if (!channel.isReleased) channel.acked();
  }

  #finish(channel: Channel, job: Job): void {
    const { connection } = channel;
    this.#context.zone.run(() => {
      for (const queue of job.queues) queue.ready.returnEnded();
    });
    const waiting = this.#waiting.get(connection)!;
    if (--waiting.jobCount > 0) return;
    this.#waiting.delete(connection);
    connection.unhold(HOLD_SETTLE);
    for (const then of waiting.then) then();
  }
}
