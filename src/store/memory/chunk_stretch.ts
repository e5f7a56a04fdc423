// A chunk of a lane that may be written to pages. The lane makes it for the pager. Code that takes
// a message out of the middle of the chunk sets `draft` to null, and a delivery moves the head of
// the chunk. So the stretch can tell whether the pages hold all messages that the chunk still has.

import type { Lane } from "./lane.ts";
import type { LaneChunk } from "./lane_chunk.ts";
import { emptyPagedMessage, type Page, type PagedMessage, type Stretch } from "../page.ts";

/** Marks a chunk that cannot be written. */
const UNWRITABLE: object = {};

/** The messages of one chunk. */
export class ChunkStretch implements Stretch {
  readonly source: Lane;
  readonly chunk: LaneChunk;
  /**
   * Head of the chunk when writing began. Once the head has moved, the chunk is not cold any more.
   */
  #head = 0;
  readonly #message: PagedMessage = emptyPagedMessage();

  constructor(lane: Lane, chunk: LaneChunk) {
    this.source = lane;
    this.chunk = chunk;
  }

  get memoryBytes(): number {
    return this.chunk.memoryBytes;
  }

  each(visit: (message: PagedMessage) => void): void {
    const { chunk } = this;
    const message = this.#message;
    for (let index = chunk.head; index < chunk.tail; index++) {
      message.ref = chunk.refs[index]!;
      if (message.ref === 0) continue;
      message.position = chunk.base + index;
      message.entry = chunk.entries[index]!;
      message.endMs = chunk.expiries === null ? Infinity : chunk.expiries[index]!;
      visit(message);
    }
  }

  begin(): boolean {
    const { chunk } = this;
    this.#head = chunk.head;
    chunk.draft = this;
    // The pages must hold all messages of the chunk, so it takes no more.
    chunk.seal();
    return true;
  }

  isWhole(): boolean {
    return this.chunk.draft === this && this.chunk.head === this.#head;
  }

  abandon(): void {
    if (this.chunk.draft === this) this.chunk.draft = null;
  }

  refuse(ref: number, position: number): void {
    const { chunk } = this;
    if (ref === 0 || chunk.refs[position - chunk.base] === ref) chunk.draft = UNWRITABLE;
  }

  pagedOut(pages: readonly Page[]): void {
    this.source.pagedOut(this.chunk, pages);
  }
}
