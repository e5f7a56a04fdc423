// Bounds how many lists are made at the same time, because each takes memory while it is made or
// read. There are a few seats. Other requests wait for one in the order in which they came, and too
// many are refused. A client that does not read its answer loses its seat when another request
// waits.

import { tooBusy } from "./problems.ts";

/** Lists being made or read at the same time. */
export const SEATS_MAX = 8;
/** Requests that may wait for a seat. */
export const WAITING_MAX = 200;
/**
 * A client that has taken nothing for this long may lose its seat. It is less than a waiting
 * client's patience.
 */
export const IDLE_MS_MAX = 5_000;

const LOOK_INTERVAL_MS = 1_000;

/** The place of one list. */
export interface Seat {
  /** To be called when the client has taken a piece, or the work has gone on. */
  touch(): void;
  /** Gives the seat up when the list is done or dropped. A second call does nothing. */
  leave(): void;
  /** Called when the seat has been taken away. */
  onLost: () => void;
}

/** The clock and the pauses of a {@linkcode ListDesk}. */
export interface DeskOptions {
  /** Resolves after `delayMs` milliseconds. */
  pause: (delayMs: number) => Promise<void>;
  /** Milliseconds on a clock that never goes back. */
  nowMs: () => number;
}

interface Taken extends Seat {
  touchedMs: number;
}

/** The seats of one node. */
export class ListDesk {
  readonly #options: DeskOptions;
  readonly #taken = new Set<Taken>();
  readonly #waiting: ((seat: Seat) => void)[] = [];
  #isLooking = false;

  /** Makes a desk whose seats are all free. */
  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Seats that are taken now. */
  get takenCount(): number {
    return this.#taken.size;
  }

  /** Resolves with a seat; throws a 503 when too many wait already. */
  enter(): Promise<Seat> {
    if (this.#taken.size < SEATS_MAX) return Promise.resolve(this.#take());
    if (this.#waiting.length >= WAITING_MAX) throw tooBusy("too many lists are being made");
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isLooking) this.#look();
    });
  }

  #take(): Seat {
    const { nowMs } = this.#options;
    const seat: Taken = {
      touchedMs: nowMs(),
      touch: () => {
        seat.touchedMs = nowMs();
      },
      leave: () => this.#leave(seat),
      onLost: () => {},
    };
    this.#taken.add(seat);
    return seat;
  }

  #leave(seat: Taken): void {
    if (!this.#taken.delete(seat)) return;
    const next = this.#waiting.shift();
    if (next !== undefined) next(this.#take());
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#waiting.length > 0) {
      await this.#options.pause(LOOK_INTERVAL_MS);
      const lastMs = this.#options.nowMs() - IDLE_MS_MAX;
      for (const seat of [...this.#taken]) {
        if (this.#waiting.length === 0) break;
        if (seat.touchedMs > lastMs) continue;
        seat.leave();
        seat.onLost();
      }
    }
    this.#isLooking = false;
  }
}
