// The dead letters of one queue that wait to be published, in order, and the reads of those that are
// only on disk. Several reads run at a time, so that a backlog is not read one by one. DeadLetters has
// one for each queue with dead letters and decides which queue is next.

import type { ReadWaiter, RecordView, Store } from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import type { DeadLetter } from "../queue/dead_letter.ts";

// Letters of one queue that are read at a time.
const READS_MAX = 16;
const READ_BYTES_MAX = 1024 * 1024;
// The array is shortened when this many letters at its beginning are done, if they are half of it.
const GONE_MAX = 4096;

/** Receives the result when the oldest letter of a queue had to be read. */
export interface LetterReads {
  /** The oldest letter is in memory. */
  firstArrived(letters: SourceLetters): void;
  /** The oldest letter cannot be read. */
  firstFailed(letters: SourceLetters, error: Error): void;
}

/** Dead letters of one queue. */
export class SourceLetters {
  #letters: DeadLetter[] = [];
  #next = 0;
  readonly #store: Store;
  readonly #reads: LetterReads;
  readonly #reading = new Set<DeadLetter>();
  #readingBytes = 0;
  readonly #view: RecordView = emptyView();

  constructor(store: Store, reads: LetterReads) {
    this.#store = store;
    this.#reads = reads;
  }

  get count(): number {
    return this.#letters.length - this.#next;
  }

  /** The oldest letter; there must be one. */
  get first(): DeadLetter {
    return this.#letters[this.#next]!;
  }

  push(letter: DeadLetter): void {
    this.#letters.push(letter);
  }

  /** Removes the oldest letter. */
  shift(): void {
    this.#next++;
    if (this.#next === this.#letters.length) {
      this.#letters.length = 0;
      this.#next = 0;
    } else if (this.#next >= GONE_MAX && this.#next * 2 >= this.#letters.length) {
      this.#letters.splice(0, this.#next);
      this.#next = 0;
    }
  }

  /** Called when the oldest letter is not in memory: requests it and some of those after it. */
  read(): void {
    const letters = this.#letters;
    const end = Math.min(letters.length, this.#next + READS_MAX);
    for (let index = this.#next; index < end; index++) {
      if (index > this.#next && this.#readingBytes >= READ_BYTES_MAX) return;
      const letter = letters[index]!;
      if (this.#reading.has(letter) || this.#store.open(letter.ref, this.#view)) continue;
      this.#store.describe(letter.ref, this.#view);
      this.#request(letter, this.#view.bodyEnd - this.#view.bodyStart);
    }
  }

  #request(letter: DeadLetter, bodyBytes: number): void {
    this.#reading.add(letter);
    this.#readingBytes += bodyBytes;
    const isFirst = (): boolean => {
      this.#reading.delete(letter);
      this.#readingBytes -= bodyBytes;
      return this.count > 0 && this.first === letter;
    };
    const waiter: ReadWaiter = {
      readArrived: () => {
        if (isFirst()) this.#reads.firstArrived(this);
      },
      // A letter that is not the oldest is requested again when it is.
      readFailed: (error) => {
        if (isFirst()) this.#reads.firstFailed(this, error);
      },
    };
    this.#store.request(letter.ref, waiter);
  }
}
