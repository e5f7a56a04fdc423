// Message rates. Counters of subjects that a client looks at are sampled every few seconds, and a
// rate is the difference of the last two samples. A subject that no client has asked for in a while
// is not sampled, so a hundred thousand queues cost nothing. server.ts drives it; it owns no timer.

import type { Pace } from "./slices.ts";

/** Counters of one subject at one moment. */
export type Counters = Readonly<Record<string, number>>;

/** How often server.ts calls {@linkcode RateBook.sample}. */
export const SAMPLE_INTERVAL_MS = 5_000;

/** Units of work for the sample of one subject. */
const SAMPLE_UNITS = 5;

const FORGET_AFTER_MS = 60_000;

interface Track {
  readonly read: () => Counters;
  counters: Counters;
  takenMs: number;
  rates: Counters;
  askedMs: number;
}

/** The rates of all subjects that clients look at. */
export class RateBook {
  readonly #tracks = new Map<object, Track>();
  readonly #nowMs: () => number;
  #isSampling = false;

  /** Reads time, ms, on a clock that never goes back. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How many subjects are sampled. */
  get size(): number {
    return this.#tracks.size;
  }

  /**
   * Returns the rates per second of `subject`'s counters; all 0 until two samples have been taken.
   */
  of(subject: object, read: () => Counters): Counters {
    const track = this.#tracks.get(subject);
    const nowMs = this.#nowMs();
    if (track !== undefined) {
      track.askedMs = nowMs;
      return track.rates;
    }
    const counters = read();
    this.#tracks.set(subject, { read, counters, takenMs: nowMs, rates: {}, askedMs: nowMs });
    return {};
  }

  /**
   * Takes a sample of every subject that clients look at and forgets the others, in bounded steps.
   * If the next call comes before it is done, that call does nothing.
   */
  async sample(pace: Pace): Promise<void> {
    if (this.#isSampling) return;
    this.#isSampling = true;
    try {
      await pace.next();
      for (const [subject, track] of this.#tracks) {
        const nowMs = this.#nowMs();
        if (nowMs - track.askedMs > FORGET_AFTER_MS) this.#tracks.delete(subject);
        else take(track, nowMs);
        if (pace.spend(SAMPLE_UNITS)) await pace.next();
      }
    } finally {
      this.#isSampling = false;
    }
  }
}

function take(track: Track, nowMs: number): void {
  const elapsedSeconds = (nowMs - track.takenMs) / 1000;
  if (elapsedSeconds <= 0) return;
  const counters = track.read();
  const rates: Record<string, number> = {};
  for (const [name, value] of Object.entries(counters)) {
    rates[name] = (value - (track.counters[name] ?? 0)) / elapsedSeconds;
  }
  track.counters = counters;
  track.takenMs = nowMs;
  track.rates = rates;
}

/** Returns counters and their rates as the API shows them: `publish` and `publish_details.rate`. */
export function withRates(counters: Counters, rates: Counters): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(counters)) {
    json[name] = value;
    json[`${name}_details`] = { rate: rates[name] ?? 0 };
  }
  return json;
}
