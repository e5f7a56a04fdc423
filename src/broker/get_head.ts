// Takes single messages out of a queue for basic.get, past those whose time is over. The counterpart of
// dispatch.ts for clients that ask instead of consuming.

import { HEAD_EMPTY, HEAD_PENDING } from "../store/port.ts";
import type { Delivery } from "./delivery.ts";
import type { Queue } from "./queue.ts";

/** A message was found. */
export const GET_MESSAGE = 1;
/** The queue is empty. */
export const GET_EMPTY = 0;
/** The head is being read or has to expire first; try again when the queue says so. */
export const GET_PENDING = 2;

/** Takes the head of `queue` into `delivery`; one of `GET_*`. */
export function getHead(queue: Queue, delivery: Delivery): number {
  const { lane, broker } = queue;
  for (;;) {
    const state = lane.head(queue);
    if (state === HEAD_EMPTY) return GET_EMPTY;
    if (state === HEAD_PENDING) return GET_PENDING;
    if (lane.headExpiryMs <= broker.nowMs) {
      if (!broker.expirySweeps.takesHead(queue)) return GET_PENDING;
      queue.expireHead();
    } else if (broker.store.open(lane.headRef, delivery.view)) {
      queue.takeHead(delivery);
      return GET_MESSAGE;
    } else {
      broker.store.requestHead(lane, queue);
      return GET_PENDING;
    }
  }
}
