// A client's channel in the simulation: takes deliveries from the broker and lets the client see them
// when the turn that made them has reached the disk, as a socket is written after the log.

import type { Consumer, ConsumerChannel } from "../../../src/broker/queue/consumer.ts";
import type { Delivery } from "../../../src/broker/queue/delivery.ts";
import type { Queue } from "../../../src/broker/queue/queue.ts";
import { Unacked } from "../../../src/broker/queue/unacked.ts";
import { Violation } from "./ledger.ts";

/** A delivery that the client has not settled. */
export interface Held {
  readonly tag: number;
  readonly key: string;
  readonly queue: Queue;
  readonly position: number;
  /** Whether the store keeps it across a restart. */
  readonly isKept: boolean;
  isVisible: boolean;
}

/** Told about each delivery before it is entered anywhere; answers its key and how it is kept. */
export type OnDeliver = (
  delivery: Delivery,
  noAck: boolean,
) => { key: string; isKept: boolean; batch: number };

const HELD_MAX = 24;

/** One channel. */
export class SimChannel implements ConsumerChannel {
  readonly unacked: Unacked = new Unacked();
  /** What is out, by tag. */
  readonly held: Map<number, Held> = new Map();
  readonly consumers: Consumer[] = [];
  readonly name: string;
  readonly #onDeliver: OnDeliver;
  /** What was taken in this turn, and the batch that was open then. */
  #taken: { readonly key: string; readonly batch: number }[] = [];
  #nextTag = 1;

  constructor(name: string, onDeliver: OnDeliver) {
    this.name = name;
    this.#onDeliver = onDeliver;
  }

  hasCapacity(): boolean {
    return this.held.size < HELD_MAX;
  }

  deliver(consumer: Consumer, delivery: Delivery): void {
    this.take(consumer, delivery, consumer.noAck);
  }

  cancelled(consumer: Consumer): void {
    const index = this.consumers.indexOf(consumer);
    if (index >= 0) this.consumers.splice(index, 1);
  }

  take(consumer: Consumer | null, delivery: Delivery, noAck: boolean): void {
    const { key, isKept, batch } = this.#onDeliver(delivery, noAck);
    if (isKept) this.#taken.push({ key, batch });
    if (noAck) return;
    const tag = this.#nextTag++;
    const { queue, position } = delivery;
    this.held.set(tag, { tag, key, queue, position, isKept, isVisible: false });
    this.unacked.push(tag, consumer, delivery);
  }

  /** The turn has ended: the client sees what was sent, all of it written to batches before this one. */
  flush(openBatch: number): void {
    for (const { key, batch } of this.#taken) {
      if (batch >= openBatch) throw new Violation(`${key}: a client sees it before it is written`);
    }
    this.#taken = [];
    for (const held of this.held.values()) held.isVisible = true;
  }

  /** Deliveries that the client has seen. */
  visible(): Held[] {
    return [...this.held.values()].filter(({ isVisible }) => isVisible);
  }

  /** Takes what a tag means out of `held`, or all visible ones up to it. */
  settled(tag: number, multiple: boolean): Held[] {
    const settled: Held[] = [];
    for (const held of this.visible()) {
      if (held.tag === tag || (multiple && held.tag < tag)) settled.push(held);
    }
    for (const { tag } of settled) this.held.delete(tag);
    return settled;
  }
}
