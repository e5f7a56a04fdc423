// Chooses which chunks to write to pages next: those of the lanes that have most of them in memory, and
// when no lane has a cold one, whatever is worth a page in the others. The pager asks under pressure
// only; lanes say themselves when they have got long, so that nothing is searched while there is room.

import type { Lane } from "../lane.ts";
import type { LaneChunk } from "../lane_chunk.ts";

const CHUNKS_PER_LOOK = 16;
const LANES_PER_LOOK = 512;
// After a look at every lane that has found nothing.
const REST_MS = 100;

/** The next chunk to write. */
export interface ColdChunk {
  lane: Lane;
  chunk: LaneChunk;
}

/** Finds cold chunks. */
export class ColdChunks {
  readonly #lanes: ReadonlyMap<number, Lane>;
  readonly #messagesMin: number;
  readonly #long = new Set<Lane>();
  readonly #found: ColdChunk[] = [];
  #sweep: Iterator<Lane> | null = null;
  #hasSweepFound = false;
  #restUntilMs = -Infinity;

  /** `messagesMin`: how many messages make a chunk worth a page when there is no cold one. */
  constructor(lanes: ReadonlyMap<number, Lane>, messagesMin: number) {
    this.#lanes = lanes;
    this.#messagesMin = messagesMin;
  }

  /** The lane may have cold chunks. */
  add(lane: Lane): void {
    this.#long.add(lane);
  }

  /** Whether some lane is known that may have one. */
  get hasSome(): boolean {
    return this.#long.size > 0;
  }

  /** Whether `next` may find something now. */
  isWorthLooking(nowMs: number): boolean {
    return this.hasSome || nowMs >= this.#restUntilMs;
  }

  /** Starts a turn's choice: what was found before may have become something else. */
  begin(): void {
    this.#found.length = 0;
  }

  /** A chunk to be written, each once a turn; null when there is none. */
  next(nowMs: number): ColdChunk | null {
    while (this.#found.length === 0) if (!this.#look(nowMs)) return null;
    return this.#found.pop()!;
  }

  // Looks for more; false when there is nothing more to be found at the moment.
  #look(nowMs: number): boolean {
    const lane = this.#longest();
    if (lane !== null) {
      const chunks = lane.coldChunks(CHUNKS_PER_LOOK);
      if (chunks.length === 0) this.#long.delete(lane);
      for (const chunk of chunks.reverse()) this.#found.push({ lane, chunk });
      return true;
    }
    if (nowMs < this.#restUntilMs) return false;
    return this.#sweepLanes(nowMs);
  }

  #longest(): Lane | null {
    let longest: Lane | null = null;
    for (const lane of this.#long) {
      if (longest === null || lane.chunkCount > longest.chunkCount) longest = lane;
    }
    return longest;
  }

  // No lane is long: what the short ones have is next, all in turn.
  #sweepLanes(nowMs: number): boolean {
    this.#sweep ??= this.#lanes.values();
    for (let looked = 0; looked < LANES_PER_LOOK; looked++) {
      if (this.#found.length === CHUNKS_PER_LOOK) break;
      const { value: lane, done } = this.#sweep.next();
      if (done === true) {
        this.#sweep = null;
        if (!this.#hasSweepFound) this.#restUntilMs = nowMs + REST_MS;
        this.#hasSweepFound = false;
        break;
      }
      const chunk = lane.coldChunks(1)[0] ?? lane.spareChunk(this.#messagesMin);
      if (chunk === null) continue;
      this.#found.push({ lane, chunk });
      this.#hasSweepFound = true;
    }
    return this.#found.length > 0;
  }
}
