// Keeps publishers from outrunning consumers that are as fast as we let them be. When a queue has a
// backlog and its consumers settle thousands of messages a second, more input would only take turns
// away from their acks: so a publisher is held until as many messages have left the queue as it has
// just put in, and some more, so that the backlog melts. Consumers that are slow by themselves hold nobody: messages wait for them in the queue.
//
//   messages in   ──slice──┐ held ................ ┌──slice──┐ held ...
//   messages out  ─────────┴───── as many out ─────┴─────────┴──── ...

import type { Queue } from "../broker/queue.ts";
import type { Connection } from "./connection.ts";
import { HOLD_ADMISSION } from "./input.ts";

/** Ready messages from which on a queue counts as backlogged. */
const BACKLOG_MIN = 1000;
/** The part of the backlog, as a shift, that has to leave besides what has just come. */
const BACKLOG_SHIFT = 4;
/** How long consumers are watched before it is decided whether waiting for them helps. */
const WINDOW_MS = 10;
/** Messages that have to leave a queue in a window for its publishers to be held on. */
const OUT_PER_WINDOW_MIN = 200;
/** As many slow windows in a row are no accident of a busy machine. */
const SLOW_WINDOWS_MAX = 4;
/** For how many windows at most a queue whose consumers are slow is left alone. */
const PAUSED_WINDOWS_MAX = 64;

/** One queue whose publishers are or were held. */
interface Gauge {
  readonly queue: Queue;
  /** Publishers held, with the count of messages out at which each may go on. */
  readonly held: { connection: Connection; outCount: number }[];
  /** Messages out when the window began. */
  windowOutCount: number;
  /** Windows in a row in which too little left the queue. */
  slowWindows: number;
  /** Windows for which nobody is held. */
  pausedWindows: number;
  /** How long the next pause will be: doubled while consumers stay slow. */
  nextPause: number;
}

/** The publishers of one engine that wait for consumers. */
export class Admission {
  readonly #later: (delayMs: number) => void;
  readonly #gauges = new Map<Queue, Gauge>();
  #isWindowOpen = false;

  /** `later` has {@linkcode Admission.endWindow} called, in a turn, after a delay of real time. */
  constructor(later: (delayMs: number) => void) {
    this.#later = later;
  }

  /** The connection has just put `count` messages into `queue` and perhaps others. */
  published(connection: Connection, queue: Queue, count: number): void {
    if (queue.readyCount < BACKLOG_MIN || queue.consumerCount === 0) return;
    const gauge = this.#gaugeOf(queue);
    if (gauge.pausedWindows > 0) return;
    const before = gauge.held.at(-1)?.outCount ?? outCount(queue);
    // A little more has to leave than came, so that the backlog melts instead of staying for good.
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

  /** The turn is over: lets those go on whose messages have been made up for. */
  settle(): void {
    if (this.#gauges.size === 0) return;
    for (const gauge of this.#gauges.values()) {
      const { queue } = gauge;
      const isOver = queue.isDeleted || queue.consumerCount === 0 ||
        queue.readyCount < BACKLOG_MIN;
      release(gauge, isOver ? Infinity : outCount(queue));
    }
  }

  /** A window has passed: gives up on slow consumers, forgets queues that nobody waits for. */
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

// Messages that have left the queue into the hands of consumers for good.
function outCount(queue: Queue): number {
  const { ack, reject, deliverNoAck } = queue.stats;
  return ack + reject + deliverNoAck;
}
