// The event loop of a broker whose time stands still until told otherwise: sockets are real, the timer
// is not. mod.ts makes one for `clock: "virtual"`; it never fires anything by itself.

import type { VirtualClock } from "../schedule/virtual_clock.ts";
import type { HostLoop } from "../session/host_loop.ts";
import { Soon } from "./soon.ts";

/** Runs the armed timer only inside {@linkcode VirtualLoop.advance}. */
export class VirtualLoop implements HostLoop {
  readonly #clock: VirtualClock;
  #armedMs = Infinity;
  #callback: (() => void) | null = null;
  /** Callbacks of `soon` and `later` that have not been called. */
  #soonCount = 0;
  #laterTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #soon = new Soon();
  #advancing: Promise<void> = Promise.resolve();

  /** Fires by `clock`, which nobody else may advance. */
  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Calls back once after `delayMs`; arming again replaces what was armed. */
  arm(delayMs: number, callback: () => void): void {
    this.#armedMs = this.#clock.monotonicMs() + delayMs;
    this.#callback = callback;
  }

  /** Forgets what was armed and what was to come later. */
  disarm(): void {
    this.#forget();
    this.#soon.stop();
    if (this.#laterTimer === undefined) return;
    clearTimeout(this.#laterTimer);
    this.#laterTimer = undefined;
    this.#soonCount--;
  }

  #forget(): void {
    this.#armedMs = Infinity;
    this.#callback = null;
  }

  /** Calls back after input and output that is ready now has had its turn. */
  soon(callback: () => void): void {
    this.#soonCount++;
    this.#soon.ask(() => {
      this.#soonCount--;
      callback();
    });
  }

  /** Calls back in a later round: where time stands still, nobody is judged by it. */
  afterInput(callback: () => void): void {
    this.soon(callback);
  }

  /** Calls back once after about `delayMs` of real time, the last asked for; nothing advances before. */
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
   * Lets `elapsedMs` pass, stopping at every due time on the way, and resolves when all that was due
   * has been done. Calls wait for each other.
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
      // The rest of a turn that was cut short belongs to this moment, not to a later one.
      await this.#settle();
    }
    this.#clock.advance(targetMs - this.#clock.monotonicMs());
  }

  async #settle(): Promise<void> {
    while (this.#soonCount > 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
