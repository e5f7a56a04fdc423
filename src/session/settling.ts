// Settlements of many deliveries at once, a bounded piece a turn, so that a client that acknowledges,
// rejects or gives back hundreds of thousands of them makes no other client wait. Few are settled where
// they are: only what is more than a turn's share becomes work here. What a piece has settled is written
// with its turn. The frames behind wait until all is done, and a queue that gets messages back delivers
// nothing meanwhile: they stand before what is ready, and all of them are to be there first.
//
//   ack ≤ 500 000 │ turn: 8192 │ turn: 8192 │ … │ turn: the rest, then the client's next frame

import type { Queue } from "../broker/queue.ts";
import { SETTLED_AS_ACKED, SETTLED_AS_RETURNED, type SettleRun } from "../broker/settle_run.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { HOLD_SETTLE } from "./input.ts";
import type { SessionContext } from "./context.ts";

// One channel after the other gets so large a part of a turn.
const PARTS = 4;
// So few are settled at once however much the turn has settled: frames that say so are bounded as input.
const AT_ONCE_PART = 16;

interface Job {
  readonly runs: SettleRun[];
  /** Queues that deliver nothing until it is done. */
  readonly queues: Set<Queue>;
}

interface Waiting {
  jobCount: number;
  readonly then: (() => void)[];
}

/** The settlements of one engine that take more than a turn. */
export class Settling {
  readonly #context: SessionContext;
  readonly #perTurn: number;
  #left: number;
  /** Whose turn is next comes first. */
  readonly #jobs = new Map<Channel, Job>();
  readonly #waiting = new Map<Connection, Waiting>();

  constructor(context: SessionContext) {
    this.#context = context;
    this.#perTurn = context.limits.settledPerTurn;
    this.#left = this.#perTurn;
  }

  /** Whether there is something to be settled in later turns. */
  get hasWork(): boolean {
    return this.#jobs.size > 0;
  }

  /**
   * Whether what a frame of this channel settles may be settled where it is. If not, {@linkcode begin} is
   * to be called.
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

  /** Settles a run from this turn on, behind what the channel settles already. */
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
      queue.returnCount++;
    });
  }

  /** Calls `then` when nothing of a connection is left to be settled, perhaps at once. */
  whenDone(connection: Connection, then: () => void): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) then();
    else waiting.then.push(then);
  }

  /** A turn begins: goes on with what there is. */
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
      for (const queue of job.queues) queue.returned();
    });
    const waiting = this.#waiting.get(connection)!;
    if (--waiting.jobCount > 0) return;
    this.#waiting.delete(connection);
    connection.unhold(HOLD_SETTLE);
    for (const then of waiting.then) then();
  }
}
