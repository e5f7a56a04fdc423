// What has to be true about every message of a simulated run. Actors report what they send and get, in
// the order in which it happens; the ledger keeps one entry per copy of a message in a queue and
// throws as soon as something happened that must not, or did not happen that must.

import type { Message } from "../support/client_channel.ts";
import { integerOf } from "../../src/amqp/field_value.ts";
import type { Cause, QueuePlan } from "./plan.ts";

/** A promise was broken; the seed and the step are added by whoever runs the simulation. */
export class BrokenPromise extends Error {}

/** In a transaction that has not been committed. */
export const HELD = "held";
/** In its queue, ready or delayed. */
const IN_QUEUE = "in queue";
/** With a client, unacked. */
export const OUT = "out";
/** Gone for good, as it should be. */
const GONE = "gone";
/** Moved to the dead-letter queue. */
const DEAD = "dead";

/** One message in one queue. */
export interface Copy {
  readonly id: number;
  readonly plan: QueuePlan;
  /** Of the queue that it was published to; another one by the same name knows nothing of it. */
  epoch: number;
  sentMs: number;
  /** Channel that published it: order is kept per publisher. */
  readonly publisher: string;
  /** Whether the queue must have it: published and not refused. */
  isCertain: boolean;
  /** Refused by a confirm: nobody may ever see it. */
  isRefused: boolean;
  /** Purged, and perhaps dead before that. */
  mayBeDead: boolean;
  /** Own expiration, ms; Infinity without. */
  expirationMs: number;
  state: string;
  deliveryCount: number;
  spent: number;
  /** Not to be delivered earlier. */
  notBeforeMs: number;
}

/** Who got a message. */
export interface Receiver {
  /** Names the consumer, or the channel for basic.get. */
  readonly name: string;
  readonly plan: QueuePlan;
  readonly noAck: boolean;
}

/** Every copy of every message. */
export class Ledger {
  readonly copies: Map<string, Copy> = new Map();
  deliveryCount = 0;
  retryCount = 0;
  readonly #nowMs: () => number;
  readonly #lastFirst = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  /** A message is about to be published to this queue. */
  sent(id: number, plan: QueuePlan, publisher: string, expirationMs: number): Copy {
    const copy: Copy = {
      id,
      plan,
      epoch: plan.epoch,
      sentMs: this.nowMs,
      publisher,
      isCertain: false,
      isRefused: false,
      mayBeDead: false,
      expirationMs,
      state: IN_QUEUE,
      deliveryCount: 0,
      spent: 0,
      notBeforeMs: 0,
    };
    this.copies.set(`${id}@${plan.name}`, copy);
    return copy;
  }

  /** A transaction will be committed: the message arrives now. */
  committed(copy: Copy): void {
    copy.state = IN_QUEUE;
    copy.epoch = copy.plan.epoch;
    copy.sentMs = this.nowMs;
  }

  /** Whether the queue that a copy is in still exists. */
  isCurrent(copy: Copy): boolean {
    return copy.epoch === copy.plan.epoch;
  }

  /** Whether a copy may be missing: its queue drops messages by itself. */
  isLossy(copy: Copy): boolean {
    return copy.plan.isLossy || copy.expirationMs !== Infinity;
  }

  /** Somebody got a message. */
  received(message: Message, receiver: Receiver): Copy {
    const { plan } = receiver;
    const copy = this.copies.get(`${message.body.split(" ")[0]}@${plan.name}`);
    if (copy === undefined) throw new BrokenPromise(`${plan.name} made up ${message.body}`);
    const name = `message ${copy.id} of ${plan.name}`;
    if (copy.isRefused) throw new BrokenPromise(`${name} was nacked and is delivered`);
    if (copy.state !== IN_QUEUE) throw new BrokenPromise(`${name} is ${copy.state} and delivered`);
    if (this.nowMs < copy.notBeforeMs) {
      const earlyMs = copy.notBeforeMs - this.nowMs;
      throw new BrokenPromise(`${name} is ${earlyMs} ms early`);
    }
    if (copy.spent > plan.limit) throw new BrokenPromise(`${name} is over its limit`);
    if (message.redelivered !== copy.deliveryCount > 0) {
      throw new BrokenPromise(`${name}: redelivered is ${message.redelivered}`);
    }
    this.#checkCount(name, copy, message);
    if (copy.deliveryCount === 0) this.#checkOrder(name, copy, receiver);
    copy.deliveryCount++;
    this.deliveryCount++;
    copy.state = receiver.noAck ? GONE : OUT;
    return copy;
  }

  #checkCount(name: string, copy: Copy, message: Message): void {
    if (!copy.plan.keepsCount) return;
    const header = integerOf(message.properties.headers?.get("x-delivery-count"));
    const expected = copy.spent === 0 ? undefined : copy.spent;
    if (header === expected) return;
    throw new BrokenPromise(`${name}: x-delivery-count is ${header}, not ${expected}`);
  }

  // First deliveries of one publisher's messages to one consumer come in the order of publishing.
  #checkOrder(name: string, copy: Copy, receiver: Receiver): void {
    const key = `${receiver.name} ${copy.plan.name} ${copy.publisher}`;
    const last = this.#lastFirst.get(key) ?? 0;
    if (copy.id < last) throw new BrokenPromise(`${name} comes after message ${last}`);
    this.#lastFirst.set(key, copy.id);
  }

  /** A message that was out is acked. */
  acked(copy: Copy): void {
    copy.state = GONE;
  }

  /** A message that was out is rejected for good. */
  rejected(copy: Copy): void {
    this.#die(copy);
  }

  /** A message that was out comes back. */
  returned(copy: Copy, cause: Cause): void {
    if (!this.isCurrent(copy)) {
      copy.state = GONE;
      return;
    }
    if (copy.plan.spends(cause)) copy.spent++;
    if (copy.spent > copy.plan.limit) {
      this.#die(copy);
      return;
    }
    const delayMs = copy.plan.delayMs(cause, copy.spent);
    if (delayMs > 0) this.retryCount++;
    copy.notBeforeMs = delayMs > 0 ? this.nowMs + delayMs : 0;
    copy.state = IN_QUEUE;
  }

  #die(copy: Copy): void {
    copy.state = copy.plan.hasDeadLetters && this.isCurrent(copy) ? DEAD : GONE;
  }

  /** Everything in a queue that is not out is gone: purge. */
  purged(plan: QueuePlan): void {
    for (const copy of this.copies.values()) {
      if (copy.plan !== plan || copy.state !== IN_QUEUE) continue;
      copy.state = GONE;
      copy.mayBeDead = plan.hasDeadLetters && this.isLossy(copy);
    }
  }

  /** A queue was deleted: everything that was in it is gone, also what is out. */
  deleted(plan: QueuePlan): void {
    this.purged(plan);
    plan.epoch++;
  }

  /** How many copies a queue must hold: in it, and out of it. */
  counts(plan: QueuePlan): { inQueue: number; out: number; isExact: boolean } {
    let inQueue = 0;
    let out = 0;
    let isExact = true;
    for (const copy of this.copies.values()) {
      if (copy.plan !== plan || !this.isCurrent(copy)) continue;
      if (copy.state === OUT) out++;
      else if (copy.state === IN_QUEUE) inQueue++;
      if (copy.state === IN_QUEUE && (!copy.isCertain || this.isLossy(copy))) isExact = false;
    }
    return { inQueue, out, isExact };
  }

  /** After all queues have been emptied: whatever is missing now is lost. */
  checkNothingLost(deadCounts: ReadonlyMap<number, number>): void {
    const expected = new Map<number, { least: number; most: number }>();
    for (const copy of this.copies.values()) {
      const dead = expected.get(copy.id) ?? { least: 0, most: 0 };
      expected.set(copy.id, dead);
      this.#checkEnd(copy, dead);
    }
    for (const [id, { least, most }] of expected) {
      const count = deadCounts.get(id) ?? 0;
      if (count < least) throw new BrokenPromise(`message ${id} is lost on its way to the dead`);
      if (count > most) throw new BrokenPromise(`message ${id} died ${count} times, not ${most}`);
    }
  }

  #checkEnd(copy: Copy, dead: { least: number; most: number }): void {
    const name = `message ${copy.id} of ${copy.plan.name}`;
    if (copy.state === OUT) throw new BrokenPromise(`${name} is out although nobody is left`);
    if (copy.mayBeDead) dead.most++;
    if (copy.state === DEAD) {
      dead.least++;
      dead.most++;
    }
    if (copy.state !== IN_QUEUE) return;
    if (copy.plan.hasDeadLetters && this.isLossy(copy)) {
      if (copy.isCertain) dead.least++;
      dead.most++;
      return;
    }
    if (!copy.isCertain) return;
    if (!this.isLossy(copy)) throw new BrokenPromise(`${name} is lost`);
    if (copy.plan.dropsHead) return;
    const endMs = copy.sentMs + Math.min(copy.plan.ttlMs, copy.expirationMs);
    if (this.nowMs < endMs) throw new BrokenPromise(`${name} is lost before its time`);
  }
}
