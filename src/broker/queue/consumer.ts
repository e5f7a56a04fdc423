// A consumer of one queue, and the port through which its channel takes deliveries. Queue makes and
// cancels consumers; dispatch asks them for capacity. Neither knows frames.

import { encodeText } from "../../lib/text.ts";
import type { Delivery } from "./delivery.ts";
import type { Queue } from "./queue.ts";

/** The channel as its consumers see it; session/ implements it. */
export interface ConsumerChannel {
  /** False while the outbox is above its watermark or the channel's prefetch is used up. */
  hasCapacity(consumer: Consumer): boolean;
  /** Writes the delivery to the outbox at once; unless `noAck`, enters it into the unacked table. */
  deliver(consumer: Consumer, delivery: Delivery): void;
  /** Called when the broker has cancelled the consumer, because its queue is gone or cannot be read. */
  cancelled(consumer: Consumer): void;
}

/** The options of `basic.consume`. */
export interface ConsumeOptions {
  channel: ConsumerChannel;
  tag: string;
  noAck: boolean;
  exclusive: boolean;
  priority: number;
  /** Unacked messages this consumer may have; 0 = no limit. */
  prefetch: number;
  /** Bytes of the largest content header that the client takes; no limit when left out. */
  headerBytesMax?: number;
}

/** One consumer. */
export class Consumer {
  readonly queue: Queue;
  readonly channel: ConsumerChannel;
  readonly tag: string;
  /** The tag as UTF-8, for the hot path. */
  readonly tagBytes: Uint8Array;
  readonly noAck: boolean;
  readonly exclusive: boolean;
  readonly priority: number;
  readonly prefetch: number;
  /** Bytes of the largest content header that can be sent to this consumer. */
  readonly headerBytesMax: number;
  unackedCount = 0;
  isCancelled = false;
  /** Whether the consumer is out of the ring until it has capacity again. */
  isBlocked = false;

  constructor(queue: Queue, options: ConsumeOptions) {
    this.queue = queue;
    this.channel = options.channel;
    this.tag = options.tag;
    this.tagBytes = encodeText(options.tag);
    this.noAck = options.noAck;
    this.exclusive = options.exclusive;
    this.priority = options.priority;
    this.prefetch = options.prefetch;
    this.headerBytesMax = options.headerBytesMax ?? Infinity;
  }

  /** Whether one more message may be sent to the consumer. */
  hasCapacity(): boolean {
    if (this.prefetch !== 0 && this.unackedCount >= this.prefetch && !this.noAck) return false;
    return this.channel.hasCapacity(this);
  }
}
