// Chooses the stretches that the pager writes next: those that are needed last, from the lanes and
// retry queues that have most in memory. When no source has a cold stretch, it chooses any stretch
// that is worth a page. The pager asks only under pressure. Sources register themselves when they
// have grown, so that nothing is searched while there is room.

import type { PageSource, Stretch } from "../page.ts";

const STRETCHES_PER_LOOK = 16;
const SOURCES_PER_LOOK = 512;
// Pause after a look at every source that has found nothing.
const REST_MS = 100;

/** Finds cold stretches. */
export class ColdStretches {
  readonly #sources: () => Iterator<PageSource>;
  readonly #messagesMin: number;
  readonly #grown = new Set<PageSource>();
  readonly #found: Stretch[] = [];
  #sweep: Iterator<PageSource> | null = null;
  #hasSweepFound = false;
  #restUntilMs = -Infinity;

  /** `messagesMin`: how many messages are worth a page when there is no cold stretch. */
  constructor(sources: () => Iterator<PageSource>, messagesMin: number) {
    this.#sources = sources;
    this.#messagesMin = messagesMin;
  }

  /** Registers a source that may have cold stretches. */
  add(source: PageSource): void {
    this.#grown.add(source);
  }

  /** Removes a source that has no messages any more. */
  delete(source: PageSource): void {
    this.#grown.delete(source);
  }

  /** Whether some source is known that may have a cold stretch. */
  get hasSome(): boolean {
    return this.#grown.size > 0;
  }

  /** Whether `next` may find something now. */
  isWorthLooking(nowMs: number): boolean {
    return this.hasSome || nowMs >= this.#restUntilMs;
  }

  /** Starts the choice of a turn. Stretches that were found in an earlier turn may have changed. */
  begin(): void {
    this.#found.length = 0;
  }

  /** Returns a stretch to be written, each once a turn; null when there is none. */
  next(nowMs: number): Stretch | null {
    while (this.#found.length === 0) if (!this.#look(nowMs)) return null;
    return this.#found.pop()!;
  }

  // Looks for more stretches; false when there are none at the moment.
  #look(nowMs: number): boolean {
    const source = this.#largest();
    if (source !== null) {
      const stretches = source.coldStretches(STRETCHES_PER_LOOK, nowMs);
      if (stretches.length === 0) this.#grown.delete(source);
      this.#found.push(...stretches.reverse());
      return true;
    }
    if (nowMs < this.#restUntilMs) return false;
    return this.#sweepSources(nowMs);
  }

  #largest(): PageSource | null {
    let largest: PageSource | null = null;
    for (const source of this.#grown) {
      if (largest === null || source.chunkCount > largest.chunkCount) largest = source;
    }
    return largest;
  }

  // No source has grown much, so the other sources are taken in turn.
  #sweepSources(nowMs: number): boolean {
    this.#sweep ??= this.#sources();
    for (let looked = 0; looked < SOURCES_PER_LOOK; looked++) {
      if (this.#found.length === STRETCHES_PER_LOOK) break;
      const { value: source, done } = this.#sweep.next();
      if (done === true) {
        this.#sweep = null;
        if (!this.#hasSweepFound) this.#restUntilMs = nowMs + REST_MS;
        this.#hasSweepFound = false;
        break;
      }
      const stretch = source.coldStretches(1, nowMs)[0] ??
        source.spareStretch(this.#messagesMin, nowMs);
      if (stretch === null) continue;
      this.#found.push(stretch);
      this.#hasSweepFound = true;
    }
    return this.#found.length > 0;
  }
}
