// Moves ready messages of one queue to the consumers that have room for them. The broker calls it for
// every queue that changed in a turn. A queue calls it earlier, before it drops or refuses a message
// and before a method looks at it. The hot half of delivery: it allocates nothing.

import { HEAD_READY } from "../store/port.ts";
import type { Consumer } from "./consumer.ts";
import type { Delivery } from "./delivery.ts";
import type { Queue } from "./queue.ts";

/**
 * Delivers until the queue is empty, no consumer has capacity or `countMax` messages have gone out, and
 * says how many have. `delivery` is overwritten.
 */
export function dispatchQueue(queue: Queue, delivery: Delivery, countMax = Infinity): number {
  const { lane, consumers } = queue;
  const { store, nowMs, expirySweeps } = queue.broker;
  // Nothing is read from a disk for nobody; what has expired, the queue finds by itself.
  if (consumers.count === 0) return 0;
  let count = 0;
  while (count < countMax && lane.head(queue) === HEAD_READY) {
    if (!store.open(lane.headRef, delivery.view)) {
      if (consumers.hasCapacity()) store.requestHead(lane, queue);
      return count;
    }
    // A time to live of 0 means "only if deliverable at once": in the turn of its arrival a message
    // whose time is over may still go out.
    if (lane.headExpiryMs <= nowMs && delivery.view.arrivalMs < nowMs) {
      if (!expirySweeps.takesHead(queue)) return count;
      queue.expireHead();
      continue;
    }
    const consumer = consumers.next();
    if (consumer === null) return count;
    count++;
    queue.takeHead(delivery);
    if (consumer.noAck) {
      queue.stats.deliverNoAck++;
      consumer.channel.deliver(consumer, delivery);
      queue.discard(delivery);
    } else {
      queue.stats.deliver++;
      consumer.channel.deliver(consumer, delivery);
    }
  }
  return count;
}

/**
 * Delivers what earlier frames of this turn have left for the queue's consumers. Called before a method
 * looks at a queue, takes something from it or changes who consumes: what consumers can have is theirs.
 */
export function settleTurn(queue: Queue): void {
  if (!queue.isScheduled) return;
  dispatchQueue(queue, queue.broker.delivery);
  queue.dispatched();
}

/** Delivers one message now, to this consumer if it has capacity; false when none went out. */
export function serveFirst(queue: Queue, consumer: Consumer): boolean {
  queue.consumers.putFirst(consumer);
  queue.broker.schedule(queue);
  return dispatchQueue(queue, queue.broker.delivery, 1) > 0;
}
