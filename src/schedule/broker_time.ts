// Broker time: the one time line that dates arrivals, TTLs and due times. It starts at the wall
// clock of the boot (never below the last time the store remembers), runs with the monotonic clock
// and is drawn toward the wall clock by at most 1 ms per second. It is never stepped and never goes
// back, so a wall clock that jumps neither hurries nor delays a waiting message.

import type { Clock } from "./clock.ts";

/** The most that one elapsed millisecond may be stretched or shortened, ms. */
const slewPerMs = 1 / 1000;

/** Reads a {@linkcode Clock}. The server asks it once per turn. */
export class BrokerTime {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #startMonotonicMs: number;
  /**
   * The sum of the drift, ms. It is kept apart: added to 10^12 at every turn, rounding errors would
   * pile up.
   */
  #slewedMs = 0;
  #lastElapsedMs = 0;
  #lastNowMs: number;

  /** `lastPersistedMs` is the latest broker time of the previous run, 0 when there was none. */
  constructor(clock: Clock, lastPersistedMs = 0) {
    this.#clock = clock;
    this.#startMonotonicMs = clock.monotonicMs();
    this.#startMs = Math.max(clock.wallMs(), lastPersistedMs);
    this.#lastNowMs = this.#startMs;
  }

  /**
   * Returns broker time, in milliseconds since the epoch with fractions. It is never below the last
   * answer.
   */
  nowMs(): number {
    const elapsedMs = this.#clock.monotonicMs() - this.#startMonotonicMs;
    if (elapsedMs <= this.#lastElapsedMs) return this.#lastNowMs;
    const mostMs = (elapsedMs - this.#lastElapsedMs) * slewPerMs;
    this.#lastElapsedMs = elapsedMs;
    const offMs = this.#clock.wallMs() - (this.#startMs + (elapsedMs + this.#slewedMs));
    this.#slewedMs += Math.max(-mostMs, Math.min(mostMs, offMs));
    const nowMs = this.#startMs + (elapsedMs + this.#slewedMs);
    if (nowMs > this.#lastNowMs) this.#lastNowMs = nowMs;
    return this.#lastNowMs;
  }
}
