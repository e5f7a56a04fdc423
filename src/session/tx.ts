// A transaction of one channel: publishes and settlements that are held until tx.commit. The handlers
// add to it, and commit applies it in order: publishes first, then settlements, as in RabbitMQ.
// Rollback drops the publishes and makes the deliveries settleable again. It writes no frames.

import { ChannelError } from "../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../amqp/reply_code.ts";
import { emptySource, type MessageSource } from "../broker/publish.ts";
import { copyBytes } from "../lib/bytes.ts";
import type { Channel } from "./channel.ts";

/** How a held settlement is applied: as basic.ack. */
export const SETTLE_ACK = 0;
/** As basic.reject. */
export const SETTLE_REJECT = 1;
/** As basic.nack. */
export const SETTLE_NACK = 2;

/** A held publish, copied out of the input. */
export interface HeldPublish {
  readonly source: MessageSource;
  readonly mandatory: boolean;
}

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
  #publishes: HeldPublish[] = [];
  #settlements: HeldSettlement[] = [];
  #operationCount = 0;
  #heldBytes = 0;

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
    const held = copySource(source);
    this.#publishes.push({ source: held, mandatory });
    this.#heldBytes += held.address.length;
    this.#channel.connection.memory.changeContent(held.address.length);
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

  /** Returns the held publishes, oldest first, and forgets them. */
  takePublishes(): HeldPublish[] {
    const publishes = this.#publishes;
    this.#publishes = [];
    this.#channel.connection.memory.changeContent(-this.#heldBytes);
    this.#heldBytes = 0;
    this.#operationCount = 0;
    return publishes;
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
    this.takePublishes();
    this.takeSettlements();
  }
}

function copySource(source: MessageSource): MessageSource {
  const addressBytes = source.addressEnd - source.addressStart;
  const propertyBytes = source.propertiesEnd - source.propertiesStart;
  const bodyStart = addressBytes + propertyBytes;
  const bytes = new Uint8Array(bodyStart + source.bodyEnd - source.bodyStart);
  copyBytes(bytes, 0, source.address, source.addressStart, source.addressEnd);
  copyBytes(bytes, addressBytes, source.properties, source.propertiesStart, source.propertiesEnd);
  copyBytes(bytes, bodyStart, source.body, source.bodyStart, source.bodyEnd);
  return {
    ...emptySource(),
    address: bytes,
    addressEnd: addressBytes,
    properties: bytes,
    propertiesStart: addressBytes,
    propertiesEnd: bodyStart,
    body: bytes,
    bodyStart,
    bodyEnd: bytes.length,
  };
}
