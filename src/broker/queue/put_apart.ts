// Puts the head of a queue apart when its content header is too large for the clients that could take
// it, and returns to the plain lane when no message stands apart any more. dispatch.ts and get_head.ts
// call it.

import { FRAME_OVERHEAD } from "../../amqp/frame.ts";
import { ApartLane } from "./apart_lane.ts";
import type { Queue } from "./queue.ts";

// After messages have stood apart, further lines about the queue are not logged for this time, ms.
const QUIET_MS = 60_000;

/** Number of ready messages whose content header is too large for every present consumer. */
export function setAsideCount({ ready: { apart }, consumers }: Queue): number {
  return apart === null ? 0 : apart.countAbove(consumers.headerBytesMax);
}

/**
 * Puts the head apart. `headerBytes` is the size of its content header, `limits` are those of the
 * clients.
 */
export function putHeadApart(queue: Queue, headerBytes: number, limits: Iterable<number>): void {
  const { broker, ready } = queue;
  ready.apart ??= new ApartLane(ready.lane, (deltaBytes) => {
    broker.apartBytes += deltaBytes;
  });
  const { apart } = ready;
  ready.lane = apart;
  apart.setApart(headerBytes, limits);
  if (setAsideCount(queue) > 0 && broker.nowMs >= apart.quietUntilMs) {
    apart.quietUntilMs = Infinity;
    log(queue, headerBytes);
  }
}

function log(queue: Queue, headerBytes: number): void {
  const { broker, consumers } = queue;
  const fields = {
    queue: queue.name,
    vhost: queue.vhost.name,
    headerFrameBytes: headerBytes + FRAME_OVERHEAD,
    largestFrameMax: consumers.count === 0 ? 0 : consumers.headerBytesMax + FRAME_OVERHEAD,
  };
  broker.logger.log("warn", "a message is set aside: its header fits no consumer", fields);
}

/** Returns to the plain lane if no message stands apart from it. */
export function joinApart({ ready, broker }: Queue): void {
  const { apart } = ready;
  if (ready.lane !== apart || apart.count > 0) return;
  ready.lane = apart.inner;
  if (apart.quietUntilMs === Infinity) apart.quietUntilMs = broker.nowMs + QUIET_MS;
}
