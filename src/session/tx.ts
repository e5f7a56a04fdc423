// A transaction of one channel: publishes and settlements that are held until tx.commit. The handlers
// add to it, and commit applies it in order: publishes first, then settlements, as in RabbitMQ.
// Rollback drops the publishes and makes the deliveries settleable again. It writes no frames.

import { ChannelError } from "../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../amqp/reply_code.ts";
import type { MessageSource } from "../broker/publish/publisher.ts";
import type { Channel } from "./channel.ts";
import { HeldPublishes, type HeldVisitor } from "./held_publishes.ts";

/** How a held settlement is applied: as basic.ack. */
export const SETTLE_ACK = 0;
/** As basic.reject. */
export const SETTLE_REJECT = 1;
/** As basic.nack. */
export const SETTLE_NACK = 2;

/** Tags that are settled in the same way. */
export interface HeldSettlement {
  readonly tags: number[];
  readonly kind: number;
  readonly requeue: boolean;
}

/** The operations of one channel since tx.select or the last commit or rollback. */
export class Transaction {
  readonly #channel: Channel;
  readonly #operationsMax: number;
  readonly #publishes = new HeldPublishes();
  #settlements: HeldSettlement[] = [];
  #operationCount = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
    this.#operationsMax = channel.context.limits.txOperationsMax;
  }

  #count(operations: number): void {
    this.#operationCount += operations;
    if (this.#operationCount <= this.#operationsMax) return;
    const detail = `transaction holds more than ${this.#operationsMax} operations`;
    throw new ChannelError(PRECONDITION_FAILED, detail);
  }

  /** Holds a copy of a message. */
  publish(source: MessageSource, mandatory: boolean): void {
    this.#count(1);
    const before = this.#publishes.heldBytes;
    this.#publishes.add(source, mandatory);
    this.#channel.connection.memory.changeContent(this.#publishes.heldBytes - before);
  }

  /** Holds a settlement. Returns false when the tag is unknown or already held. */
  settle(tag: number, multiple: boolean, how: { kind: number; requeue: boolean }): boolean {
    const tags: number[] = [];
    const { unacked, context } = this.#channel;
    if (!context.zone.run(() => unacked.holdForTx(tag, multiple, tags))) return false;
    this.#settlements.push({ tags, ...how });
    this.#count(Math.max(1, tags.length));
    return true;
  }

  /** Passes the held publishes to `visit`, oldest first, and forgets them. */
  takePublishes(visit: HeldVisitor): void {
    this.#forgetBytes();
    this.#publishes.takeAll(visit);
  }

  #forgetBytes(): void {
    this.#channel.connection.memory.changeContent(-this.#publishes.heldBytes);
    this.#operationCount = 0;
  }

  /** Returns the held settlements, oldest first, and forgets them. Their tags can be settled now. */
  takeSettlements(): HeldSettlement[] {
    const settlements = this.#settlements;
    this.#settlements = [];
    const { unacked, context } = this.#channel;
    context.zone.run(() => {
      for (const { tags } of settlements) unacked.releaseTx(tags);
    });
    return settlements;
  }

  /** Forgets all operations. The deliveries stay unsettled with the client. */
  clear(): void {
    this.#forgetBytes();
    this.#publishes.clear();
    this.takeSettlements();
  }
}
