// Puts the head of a queue apart when its content header is too large for whoever could have it, and goes
// back to the lane alone when nothing stands apart any more. Called by dispatch.ts and get_head.ts.

import { FRAME_OVERHEAD } from "../amqp/frame.ts";
import { ApartLane } from "./apart_lane.ts";
import type { Queue } from "./queue.ts";

// A queue on which this begins and ends all the time does not fill the log.
const QUIET_MS = 60_000;

/** Ready messages whose content header is too large for every consumer there is. */
export function setAsideCount({ apart, consumers }: Queue): number {
  return apart === null ? 0 : apart.countAbove(consumers.headerBytesMax);
}

/** The head's content header has so many bytes, and clients have these limits. */
export function putHeadApart(queue: Queue, headerBytes: number, limits: Iterable<number>): void {
  const { broker } = queue;
  queue.apart ??= new ApartLane(queue.lane, (deltaBytes) => {
    broker.apartBytes += deltaBytes;
  });
  const { apart } = queue;
  queue.lane = apart;
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

/** Goes on with the lane alone if nothing stands apart from it. */
export function joinApart(queue: Queue): void {
  const { apart } = queue;
  if (queue.lane !== apart || apart.count > 0) return;
  queue.lane = apart.inner;
  if (apart.quietUntilMs === Infinity) apart.quietUntilMs = queue.broker.nowMs + QUIET_MS;
}
