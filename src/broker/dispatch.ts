// Moves ready messages of one queue to the consumers that have room for them. The broker calls it for
// every queue that changed in a turn, a queue calls it before it would have to drop or refuse a
// message. The hot half of delivery: it allocates nothing.

import { HEAD_READY } from "../store/port.ts";
import type { Delivery } from "./delivery.ts";
import type { Queue } from "./queue.ts";

/** Delivers until the queue is empty or no consumer has capacity; `delivery` is overwritten. */
export function dispatchQueue(queue: Queue, delivery: Delivery): void {
  const { lane, consumers } = queue;
  const { store, nowMs, expirySweeps } = queue.broker;
  // Nothing is read from a disk for nobody; what has expired, the queue finds by itself.
  if (consumers.count === 0) return;
  while (lane.head(queue) === HEAD_READY) {
    if (!store.open(lane.headRef, delivery.view)) {
      if (consumers.hasCapacity()) store.requestHead(lane, queue);
      return;
    }
    // A time to live of 0 means "only if deliverable at once": in the turn of its arrival a message
    // whose time is over may still go out.
    if (lane.headExpiryMs <= nowMs && delivery.view.arrivalMs < nowMs) {
      if (!expirySweeps.takesHead(queue)) return;
      queue.expireHead();
      continue;
    }
    const consumer = consumers.next();
    if (consumer === null) return;
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
}
