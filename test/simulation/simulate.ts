// One simulated run from a seed: a node on virtual time, queues drawn at random, a few clients that do
// random things, and the ledger that watches. After the last step everybody leaves, the queues are
// emptied, and nothing may be missing, doubled or left over. The same seed is the same run.

import { Prng } from "../../src/lib/prng.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { TestNode } from "../support/test_node.ts";
import type { NodeOptions } from "../support/test_node.ts";
import { Actor, FANOUT } from "./actor.ts";
import type { Stage } from "./actor.ts";
import { BrokenPromise, Ledger } from "./ledger.ts";
import { DEAD_QUEUE, QueuePlan } from "./plan.ts";

/** What a run may be told. */
export interface SimulationOptions {
  steps?: number;
  /** Parts of the node to replace, to plant a bug. */
  node?: NodeOptions;
}

/** What happened in a run that went well. */
export interface SimulationResult {
  readonly deliveryCount: number;
  readonly retryCount: number;
  readonly messageCount: number;
}

/** A run in which a promise was broken. */
export class SimulationFailure extends Error {
  constructor(seed: number, step: number, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`seed ${seed}, step ${step}: ${reason}`, { cause });
  }
}

const STEPS_DEFAULT = 400;
const LATE_MS = 10 * 60_000;
const MEMORY_SLACK_BYTES = 16 * 1024 * 1024;

/** Runs one seed; throws {@linkcode SimulationFailure}. */
export function simulate(seed: number, options: SimulationOptions = {}): SimulationResult {
  const simulation = new Simulation(seed, options);
  try {
    return simulation.run(options.steps ?? STEPS_DEFAULT);
  } catch (error) {
    throw new SimulationFailure(seed, simulation.step, error);
  }
}

class Simulation implements Stage {
  readonly prng: Prng;
  readonly node: TestNode;
  readonly ledger: Ledger;
  readonly plans: QueuePlan[];
  step = 0;
  readonly #actors: Actor[];
  #admin: ClientChannel;
  #lastId = 0;
  readonly #startBytes: number;

  constructor(seed: number, options: SimulationOptions) {
    const prng = new Prng(seed);
    this.prng = prng;
    const limits = {
      inputBytesPerTurn: 200 + prng.nextBelow(20_000),
      outboxBytesMax: 2000 + prng.nextBelow(200_000),
      memoryBytesMax: prng.nextBelow(3) === 0 ? 10_000_000 : 1_000_000_000,
      unackedPerChannelMax: prng.nextBelow(3) === 0 ? 20 : 100_000,
      // Every other run settles a few deliveries a turn.
      settledPerTurn: seed % 2 === 0 ? 1 + seed % 7 : 8192,
    };
    // An actor may leave a transaction open for as long as it likes, also while others wait for memory.
    this.node = new TestNode({ seed, limits, watchesPeers: false, ...options.node });
    const { clock } = this.node;
    this.ledger = new Ledger(() => clock.monotonicMs());
    this.plans = Array.from({ length: 3 + prng.nextBelow(3) }, (_, i) => {
      return new QueuePlan(`q${i}`, prng);
    });
    this.#startBytes = this.node.broker.memoryBytes;
    this.#admin = this.node.connect().channel();
    this.#declareAll();
    const count = 2 + prng.nextBelow(4);
    this.#actors = Array.from({ length: count }, (_, i) => new Actor(`a${i}`, this));
  }

  takeId(): number {
    return ++this.#lastId;
  }

  #declareAll(): void {
    this.#admin.exchange(FANOUT, "fanout");
    this.#admin.queue(DEAD_QUEUE);
    for (const plan of this.plans) this.#declare(plan);
  }

  #declare(plan: QueuePlan): void {
    this.#admin.queue(plan.name, plan.args);
    this.#admin.bind(plan.name, FANOUT);
  }

  run(steps: number): SimulationResult {
    for (this.step = 1; this.step <= steps; this.step++) {
      this.#oneStep();
      if (this.step % 10 === 0) this.#checkCounts();
    }
    this.#finish();
    return {
      deliveryCount: this.ledger.deliveryCount,
      retryCount: this.ledger.retryCount,
      messageCount: this.#lastId,
    };
  }

  #oneStep(): void {
    const dice = this.prng.nextBelow(1000);
    if (dice < 150) this.node.advance(this.#someMs());
    else if (dice < 153) this.#purge();
    else if (dice < 155) this.#delete();
    else this.#actors[this.prng.nextBelow(this.#actors.length)]!.act();
    this.node.settle();
  }

  #someMs(): number {
    switch (this.prng.nextBelow(4)) {
      case 0:
        return this.prng.nextBelow(3);
      case 1:
        return this.prng.nextFloat() * 50;
      case 2:
        return this.prng.nextBelow(500);
      default:
        return this.prng.nextBelow(5000);
    }
  }

  get #isInStep(): boolean {
    return this.#actors.every((actor) => actor.isInStep);
  }

  #anyPlan(): QueuePlan {
    return this.plans[this.prng.nextBelow(this.plans.length)]!;
  }

  #purge(): void {
    if (!this.#isInStep) return;
    const plan = this.#anyPlan();
    this.ledger.purged(plan);
    this.#admin.rpc(M.QUEUE_PURGE, { queue: plan.name, nowait: false }, M.QUEUE_PURGE_OK);
  }

  #delete(): void {
    if (!this.#isInStep) return;
    const plan = this.#anyPlan();
    this.ledger.deleted(plan);
    this.#admin.rpc(M.QUEUE_DELETE, { queue: plan.name }, M.QUEUE_DELETE_OK);
    this.#declare(plan);
  }

  // While every client is in step the broker's counts are exactly the ledger's.
  #checkCounts(): void {
    if (!this.#isInStep) return;
    for (const plan of this.plans) {
      const queue = this.node.queue(plan.name);
      const { inQueue, out, isExact } = this.ledger.counts(plan);
      if (queue.unackedCount !== out) {
        throw new BrokenPromise(`${plan.name} has ${queue.unackedCount} out, not ${out}`);
      }
      const held = queue.readyCount + queue.delayedCount;
      if (isExact && held !== inQueue) {
        throw new BrokenPromise(`${plan.name} holds ${held}, not ${inQueue}`);
      }
    }
  }

  #finish(): void {
    for (const actor of this.#actors) actor.close();
    this.node.advance(LATE_MS);
    this.#checkCounts();
    const deadCounts = this.#empty();
    this.ledger.checkNothingLost(deadCounts);
    this.#checkNothingLeft();
  }

  // Gets everything out of every queue; returns how often each message died.
  #empty(): Map<number, number> {
    for (const plan of this.plans) {
      const queue = this.node.queue(plan.name);
      // A full queue that refuses messages keeps delayed ones back until there is room.
      while (queue.readyCount + queue.delayedCount > 0) {
        this.#drain(plan);
        this.node.advance(LATE_MS);
      }
    }
    const deadCounts = new Map<number, number>();
    for (;;) {
      const message = this.#admin.get(DEAD_QUEUE, true);
      if (message === null) return deadCounts;
      const id = Number(message.body.split(" ")[0]);
      deadCounts.set(id, (deadCounts.get(id) ?? 0) + 1);
    }
  }

  #drain(plan: QueuePlan): void {
    const receiver = { name: "drain", plan, noAck: true };
    for (;;) {
      const message = this.#admin.get(plan.name, true);
      if (message === null) return;
      this.ledger.received(message, receiver);
    }
  }

  #checkNothingLeft(): void {
    const { broker, engine } = this.node;
    const { client } = this.#admin;
    for (const plan of this.plans) {
      this.#admin.rpc(M.QUEUE_DELETE, { queue: plan.name }, M.QUEUE_DELETE_OK);
    }
    client.close();
    this.node.advance(LATE_MS);
    const left = {
      messages: broker.store.liveMessageCount,
      bytes: broker.store.liveBytes,
      held: broker.extraMemoryBytes,
      delayed: broker.delayedTable.count,
      connections: engine.connectionCount,
      timers: broker.scheduler.nextDueMs() === Infinity ? 0 : 1,
      memory: broker.memoryBytes - this.#startBytes > MEMORY_SLACK_BYTES ? 1 : 0,
    };
    for (const [what, count] of Object.entries(left)) {
      if (count !== 0) throw new BrokenPromise(`${count} ${what} left over`);
    }
  }
}
