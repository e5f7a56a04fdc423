// Delivers ready messages of one queue to consumers that have capacity. The broker calls it for every
// queue that changed in a turn. A queue calls it earlier, before it drops or refuses a message and
// before a method looks at it. This is the hot path of delivery: it allocates nothing.

import { HEAD_READY, type ReadyLane } from "../../store/port.ts";
import type { Consumer } from "./consumer.ts";
import type { Delivery } from "./delivery.ts";
import { DELIVERED_BYTES_MAX, deliveredHeaderBytes } from "./header_size.ts";
import { joinApart, putHeadApart } from "./put_apart.ts";
import type { Queue } from "./queue.ts";

// At most this many messages of a queue that fit no consumer are put apart in a turn.
const APART_PER_TURN_MAX = 1024;
// The outcome for one message.
const STOPPED = 0;
const DELIVERED = 1;
const PUT_APART = 2;
const WENT_ON = 3;

/**
 * Delivers until the queue is empty, no consumer has capacity or `countMax` messages have been
 * delivered. Returns how many were delivered. `delivery` is overwritten.
 */
export function dispatchQueue(queue: Queue, delivery: Delivery, countMax = Infinity): number {
  const { ready, consumers } = queue;
  const { lane } = ready;
  const { store, nowMs, expirySweeps } = queue.broker;
  // Without consumers nothing is read from disk. The queue removes expired messages by itself.
  if (consumers.count === 0 || ready.returnCount > 0) return 0;
  if (lane === ready.apart) return dispatchApart(queue, delivery, countMax);
  const propertyBytesMax = consumers.headerBytesMin - DELIVERED_BYTES_MAX;
  let count = 0;
  while (count < countMax && lane.head(ready) === HEAD_READY) {
    if (!store.open(lane.headRef, delivery.view)) {
      if (consumers.hasCapacity()) store.requestHead(lane, ready);
      return count;
    }
    if (isHeadExpired(lane, delivery, nowMs)) {
      if (!expirySweeps.takesHead(ready)) return count;
      ready.expireHead();
      continue;
    }
    if (delivery.view.propertiesEnd - delivery.view.propertiesStart > propertyBytesMax) {
      return count + dispatchApart(queue, delivery, countMax - count);
    }
    const consumer = consumers.next();
    if (consumer === null) return count;
    count++;
    deliverHead(queue, consumer, delivery);
  }
  return count;
}

/**
 * Delivers messages that earlier frames of this turn have left for the queue's consumers. Called before
 * a method looks at a queue, takes a message from it or changes its consumers, so that the method does
 * not overtake a delivery.
 */
export function settleTurn(queue: Queue): void {
  if (!queue.isScheduled) return;
  dispatchQueue(queue, queue.broker.delivery);
  queue.ready.dispatched();
}

/**
 * Delivers one message now, to this consumer first if it has capacity. Returns whether a message was
 * delivered.
 */
export function serveFirst(queue: Queue, consumer: Consumer): boolean {
  if (queue.readyCount === 0) {
    queue.unblock(consumer);
    return false;
  }
  queue.consumers.putFirst(consumer);
  queue.broker.schedule(queue);
  return dispatchQueue(queue, queue.broker.delivery, 1) > 0;
}

// A time to live of 0 means "only if deliverable at once": in the turn of its arrival an expired message
// may still be delivered.
function isHeadExpired(lane: ReadyLane, delivery: Delivery, nowMs: number): boolean {
  return lane.headExpiryMs <= nowMs && delivery.view.arrivalMs < nowMs;
}

function deliverHead(queue: Queue, consumer: Consumer, delivery: Delivery): void {
  queue.ready.takeHead(delivery);
  if (consumer.noAck) {
    queue.stats.deliverNoAck++;
    consumer.channel.deliver(consumer, delivery);
    queue.settlement.discarded(delivery);
  } else {
    queue.stats.deliver++;
    consumer.channel.deliver(consumer, delivery);
  }
}

// Does the same for a queue with messages whose content header may not fit every consumer. Each message
// goes to the next consumer that takes it. A message that no consumer with capacity takes is put apart,
// so that it holds up no others.
function dispatchApart(queue: Queue, delivery: Delivery, countMax: number): number {
  const { consumers, ready } = queue;
  ready.apart?.rewind();
  ready.apart?.learn(consumers.headerLimits);
  let count = 0;
  let putApart = 0;
  while (count < countMax && putApart < APART_PER_TURN_MAX) {
    const outcome = deliverFitting(queue, delivery);
    if (outcome === STOPPED) break;
    if (outcome === DELIVERED) count++;
    if (outcome === PUT_APART) putApart++;
  }
  // The remaining messages are looked at in the next turn.
  if (putApart === APART_PER_TURN_MAX) queue.broker.schedule(queue);
  joinApart(queue);
  return count;
}

// Looks at one message and returns `STOPPED`, `DELIVERED`, `PUT_APART` or `WENT_ON`.
function deliverFitting(queue: Queue, delivery: Delivery): number {
  const { consumers, ready } = queue;
  const { apart, lane } = ready;
  const { store, nowMs, expirySweeps } = queue.broker;
  const isLaneApart = lane === apart;
  const state = isLaneApart ? apart.headFor(consumers.headerBytesMax, ready) : lane.head(ready);
  if (state !== HEAD_READY) return STOPPED;
  const isApart = isLaneApart && apart.isHeadApart;
  if (isApart && !consumers.hasCapacityFor(apart.headLimitBytes)) {
    apart.skip();
    return WENT_ON;
  }
  if (!store.open(lane.headRef, delivery.view)) {
    if (consumers.hasCapacity()) store.requestHead(lane, ready);
    return STOPPED;
  }
  if (isHeadExpired(lane, delivery, nowMs)) {
    if (!expirySweeps.takesHead(ready)) return STOPPED;
    ready.expireHead();
    return WENT_ON;
  }
  const headerBytes = isApart
    ? apart.headLimitBytes
    : deliveredHeaderBytes(queue, delivery.view, lane.headEntry);
  const consumer = consumers.nextFor(headerBytes);
  if (consumer !== null) {
    deliverHead(queue, consumer, delivery);
    return DELIVERED;
  }
  if (!consumers.hasCapacity()) return STOPPED;
  putHeadApart(queue, headerBytes, consumers.headerLimits);
  return PUT_APART;
}
