// The event loop of a broker with a virtual clock: the sockets are real, the timer is not. mod.ts makes
// one for `clock: "virtual"`; it never fires a timer by itself.

import type { VirtualClock } from "../schedule/virtual_clock.ts";
import type { HostLoop } from "../session/host_loop.ts";
import { Soon } from "./soon.ts";

/** Runs the armed timer only inside {@linkcode VirtualLoop.advance}. */
export class VirtualLoop implements HostLoop {
  readonly #clock: VirtualClock;
  #armedMs = Infinity;
  #callback: (() => void) | null = null;
  /** Number of callbacks of `soon` and `later` that are still to be called. */
  #soonCount = 0;
  #laterTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #soon = new Soon();
  #advancing: Promise<void> = Promise.resolve();

  /** Fires by `clock`, which no other code may advance. */
  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Calls back once after `delayMs`. Arming again replaces the earlier timer. */
  arm(delayMs: number, callback: () => void): void {
    this.#armedMs = this.#clock.monotonicMs() + delayMs;
    this.#callback = callback;
  }

  /** Cancels the armed timer and the callback of `later`. */
  disarm(): void {
    this.#forget();
    if (this.#laterTimer === undefined) return;
    clearTimeout(this.#laterTimer);
    this.#laterTimer = undefined;
    this.#soonCount--;
  }

  #forget(): void {
    this.#armedMs = Infinity;
    this.#callback = null;
  }

  /** Calls back after input and output that is ready now has been handled. */
  soon(callback: () => void): void {
    this.#soonCount++;
    this.#soon.ask(() => {
      this.#soonCount--;
      callback();
    });
  }

  /** Calls back in a later round. With a virtual clock, waiting for late input is not needed. */
  afterInput(callback: () => void): void {
    this.soon(callback);
  }

  /**
   * Calls back once after about `delayMs` of real time; a later call replaces an earlier one. `advance`
   * waits for it.
   */
  later(delayMs: number, callback: () => void): void {
    if (this.#laterTimer === undefined) this.#soonCount++;
    clearTimeout(this.#laterTimer);
    this.#laterTimer = setTimeout(() => {
      this.#laterTimer = undefined;
      this.#soonCount--;
      callback();
    }, delayMs);
  }

  /**
   * Lets `elapsedMs` pass and stops at every due time in between. Resolves when all due work has been
   * done. Concurrent calls run one after the other.
   */
  advance(elapsedMs: number): Promise<void> {
    if (!(elapsedMs >= 0)) throw new RangeError(`cannot advance by ${elapsedMs} ms`);
    this.#advancing = this.#advancing.then(() => this.#advanceNow(elapsedMs));
    return this.#advancing;
  }

  async #advanceNow(elapsedMs: number): Promise<void> {
    const targetMs = this.#clock.monotonicMs() + elapsedMs;
    await this.#settle();
    while (this.#armedMs <= targetMs) {
      this.#clock.advance(Math.max(0, this.#armedMs - this.#clock.monotonicMs()));
      const callback = this.#callback;
      this.#forget();
      callback?.();
      // Work that a turn has left over belongs to this moment, not to a later one.
      await this.#settle();
    }
    this.#clock.advance(targetMs - this.#clock.monotonicMs());
  }

  async #settle(): Promise<void> {
    while (this.#soonCount > 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
