// Takes single messages out of a queue for basic.get and passes over expired ones. It is the
// counterpart of dispatch.ts for clients that poll instead of consuming.

import { HEAD_EMPTY, HEAD_PENDING } from "../../store/port.ts";
import type { Delivery } from "./delivery.ts";
import { deliveredHeaderBytes } from "./header_size.ts";
import { joinApart, putHeadApart } from "./put_apart.ts";
import type { Queue } from "./queue.ts";

/** A message was found. */
export const GET_MESSAGE = 1;
/** The queue is empty. */
export const GET_EMPTY = 0;
/**
 * The head is being read, must expire first, or messages are coming back to stand before it. Try again
 * when `Queue.whenRead` calls back.
 */
export const GET_PENDING = 2;

/**
 * The content headers of all messages that could be given are too large for the client.
 * `delivery.headerBytes` is the size.
 */
export const GET_TOO_LARGE = 3;

/**
 * Takes the head of `queue` into `delivery`, for a client that takes content headers of at most
 * `headerBytesMax`. Returns one of `GET_*`. A head with a larger header is put apart, so that the next
 * get finds others.
 */
export function getHead(queue: Queue, delivery: Delivery, headerBytesMax: number): number {
  const { broker, ready } = queue;
  // Messages that are being returned stand before all others.
  if (ready.returnCount > 0) return GET_PENDING;
  if (ready.lane === ready.apart) {
    ready.apart.rewind();
    ready.apart.learn([headerBytesMax]);
    // Messages may have gone back to the lane, so consumers must look at them again.
    broker.schedule(queue);
  }
  for (;;) {
    const { lane, apart } = ready;
    const isLaneApart = lane === apart;
    const state = isLaneApart ? apart.headFor(headerBytesMax, ready) : lane.head(ready);
    if (state === HEAD_EMPTY) return isLaneApart ? nothingFits(queue, delivery) : GET_EMPTY;
    if (state === HEAD_PENDING) return GET_PENDING;
    if (lane.headExpiryMs <= broker.nowMs) {
      if (!broker.expirySweeps.takesHead(ready)) return GET_PENDING;
      ready.expireHead();
    } else if (!broker.store.open(lane.headRef, delivery.view)) {
      broker.store.requestHead(lane, ready);
      return GET_PENDING;
    } else if (fits(queue, delivery, headerBytesMax)) {
      ready.takeHead(delivery);
      joinApart(queue);
      return GET_MESSAGE;
    } else {
      putHeadApart(queue, delivery.headerBytes, [...queue.consumers.headerLimits, headerBytesMax]);
      broker.schedule(queue);
      return GET_TOO_LARGE;
    }
  }
}

// Whether the loaded head, which `delivery.view` shows, fits the client.
function fits(queue: Queue, delivery: Delivery, headerBytesMax: number): boolean {
  const { lane, apart } = queue.ready;
  if (lane === apart && apart.isHeadApart) return true;
  delivery.headerBytes = deliveredHeaderBytes(queue, delivery.view, lane.headEntry);
  return delivery.headerBytes <= headerBytesMax;
}

function nothingFits(queue: Queue, delivery: Delivery): number {
  joinApart(queue);
  if (queue.readyCount === 0) return GET_EMPTY;
  delivery.headerBytes = queue.ready.apart!.minBytes;
  return GET_TOO_LARGE;
}
