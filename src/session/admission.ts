// Keeps publishers from outrunning consumers that are only limited by the broker. When a queue has a
// backlog and its consumers settle thousands of messages a second, more input would only take turns
// away from their acks. A publisher is therefore held until as many messages have left the queue as it
// has just put in, and some more, so that the backlog shrinks. Consumers that are slow by themselves
// hold no publisher: messages wait for them in the queue.
//
//   messages in   ──slice──┐ held ................ ┌──slice──┐ held ...
//   messages out  ─────────┴───── as many out ─────┴─────────┴──── ...

import type { Queue } from "../broker/queue/queue.ts";
import type { Connection } from "./connection.ts";
import { HOLD_ADMISSION } from "./input.ts";

/** A queue with at least this many ready messages has a backlog. */
const BACKLOG_MIN = 1000;
/** Besides as many messages as came, up to backlog >> BACKLOG_SHIFT more must leave the queue. */
const BACKLOG_SHIFT = 4;
/** Length of a window, ms. Consumers are watched for windows to decide whether waiting for them helps. */
const WINDOW_MS = 10;
/** At least this many messages must leave a queue in a window, or its consumers count as slow. */
const OUT_PER_WINDOW_MIN = 200;
/**
 * Publishers are released after this many slow windows in a row; fewer may be chance on a busy machine.
 */
const SLOW_WINDOWS_MAX = 4;
/** For at most this many windows, no publisher is held for a queue whose consumers are slow. */
const PAUSED_WINDOWS_MAX = 64;

/** A queue whose publishers are or were held. */
interface Gauge {
  readonly queue: Queue;
  /** Publishers held, each with the count of messages out at which it may continue. */
  readonly held: { connection: Connection; outCount: number }[];
  /** Count of messages out when the window began. */
  windowOutCount: number;
  /** Number of slow windows in a row. */
  slowWindows: number;
  /** Number of windows for which no publisher is held. */
  pausedWindows: number;
  /** Length of the next pause in windows. It is doubled while consumers stay slow. */
  nextPause: number;
}

/** The publishers of one engine that wait for consumers. */
export class Admission {
  readonly #later: (delayMs: number) => void;
  readonly #gauges = new Map<Queue, Gauge>();
  #isWindowOpen = false;

  /** `later` has {@linkcode Admission.endWindow} called in a turn, after a delay of real time. */
  constructor(later: (delayMs: number) => void) {
    this.#later = later;
  }

  /** Called when the connection has just put `count` messages into `queue` and perhaps others. */
  published(connection: Connection, queue: Queue, count: number): void {
    if (queue.readyCount < BACKLOG_MIN || queue.consumerCount === 0) return;
    const gauge = this.#gaugeOf(queue);
    if (gauge.pausedWindows > 0) return;
    const before = gauge.held.at(-1)?.outCount ?? outCount(queue);
    // A few more messages must leave than came, so that the backlog shrinks.
    const melting = Math.min(count, queue.readyCount >> BACKLOG_SHIFT);
    gauge.held.push({ connection, outCount: before + count + melting });
    connection.hold(HOLD_ADMISSION);
  }

  #gaugeOf(queue: Queue): Gauge {
    let gauge = this.#gauges.get(queue);
    if (gauge === undefined) {
      const windowOutCount = outCount(queue);
      gauge = { queue, held: [], windowOutCount, slowWindows: 0, pausedWindows: 0, nextPause: 1 };
      this.#gauges.set(queue, gauge);
      this.#openWindow();
    }
    return gauge;
  }

  #openWindow(): void {
    if (this.#isWindowOpen) return;
    this.#isWindowOpen = true;
    this.#later(WINDOW_MS);
  }

  /** Ends a turn: releases the publishers for which enough messages have left. */
  settle(): void {
    if (this.#gauges.size === 0) return;
    for (const gauge of this.#gauges.values()) {
      const { queue } = gauge;
      const isOver = queue.isDeleted || queue.consumerCount === 0 ||
        queue.readyCount < BACKLOG_MIN;
      release(gauge, isOver ? Infinity : outCount(queue));
    }
  }

  /**
   * Ends a window: releases the publishers of slow consumers and forgets queues without held
   * publishers.
   */
  endWindow(): void {
    this.#isWindowOpen = false;
    for (const gauge of this.#gauges.values()) {
      const out = outCount(gauge.queue);
      const isSlow = out - gauge.windowOutCount < OUT_PER_WINDOW_MIN;
      gauge.windowOutCount = out;
      if (gauge.held.length > 0) judge(gauge, isSlow);
      else if (gauge.pausedWindows > 0) gauge.pausedWindows--;
      else this.#gauges.delete(gauge.queue);
    }
    if (this.#gauges.size > 0) this.#openWindow();
  }
}

function judge(gauge: Gauge, isSlow: boolean): void {
  gauge.slowWindows = isSlow ? gauge.slowWindows + 1 : 0;
  if (!isSlow) gauge.nextPause = 1;
  if (gauge.slowWindows < SLOW_WINDOWS_MAX) return;
  gauge.slowWindows = 0;
  release(gauge, Infinity);
  gauge.pausedWindows = gauge.nextPause;
  gauge.nextPause = Math.min(gauge.nextPause * 2, PAUSED_WINDOWS_MAX);
}

function release(gauge: Gauge, out: number): void {
  const { held } = gauge;
  while (held.length > 0 && held[0]!.outCount <= out) {
    held.shift()!.connection.unhold(HOLD_ADMISSION);
  }
}

// Returns how many messages consumers have taken from the queue for good.
function outCount(queue: Queue): number {
  const { ack, reject, deliverNoAck } = queue.stats;
  return ack + reject + deliverNoAck;
}
