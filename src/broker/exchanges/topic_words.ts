// The words in the binding patterns of one topic exchange, with a number for each. The words of a
// routing key are looked up in place, character by character, so that matching makes no strings. Words
// are counted, so that words of no pattern are forgotten. Only topic.ts uses it.

import { FNV_OFFSET, FNV_PRIME } from "../../lib/bytes.ts";

const NONE = -1;
const BUCKETS_MIN = 16;

/** Hash of the empty word (FNV-1a over UTF-16 units). */
export const WORD_HASH_START: number = FNV_OFFSET | 0;

/** Returns the hash of a word extended by one UTF-16 unit. */
export function extendWordHash(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, FNV_PRIME);
}

function hashWord(word: string): number {
  let hash = WORD_HASH_START;
  for (let i = 0; i < word.length; i++) hash = extendWordHash(hash, word.charCodeAt(i));
  return hash;
}

function holdsWord(text: string, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let i = 0; i < word.length; i++) {
    if (text.charCodeAt(start + i) !== word.charCodeAt(i)) return false;
  }
  return true;
}

/** Numbers for words. The ids are small, dense and reused. */
export class TopicWords {
  // Chained hashing: #buckets -> id -> #nexts -> id … -> NONE.
  #buckets = new Int32Array(BUCKETS_MIN).fill(NONE);
  readonly #words: string[] = [];
  readonly #hashes: number[] = [];
  readonly #nexts: number[] = [];
  readonly #useCounts: number[] = [];
  readonly #freeIds: number[] = [];

  /** Number of known words. */
  get count(): number {
    return this.#words.length - this.#freeIds.length;
  }

  /** Returns the id of a word; -1 if no pattern has it. */
  find(word: string): number {
    return this.findIn(word, 0, word.length, hashWord(word));
  }

  /**
   * Returns the id of the word `text[start, end)`, whose hash is given; -1 if no pattern has it.
   * Allocates nothing.
   */
  findIn(text: string, start: number, end: number, hash: number): number {
    let id = this.#buckets[hash & (this.#buckets.length - 1)]!;
    while (id !== NONE) {
      if (this.#hashes[id] === hash && holdsWord(text, start, end, this.#words[id]!)) return id;
      id = this.#nexts[id]!;
    }
    return NONE;
  }

  /** Returns the id of a word, a new one if needed, and counts one more use. */
  acquire(word: string): number {
    const id = this.find(word);
    if (id === NONE) return this.#insert(word);
    this.#useCounts[id]! += 1;
    return id;
  }

  #insert(word: string): number {
    const id = this.#freeIds.pop() ?? this.#words.length;
    this.#words[id] = word;
    this.#hashes[id] = hashWord(word);
    this.#useCounts[id] = 1;
    this.#link(id);
    if (this.count > this.#buckets.length) this.#rehash(this.#buckets.length * 2);
    return id;
  }

  #link(id: number): void {
    const bucket = this.#hashes[id]! & (this.#buckets.length - 1);
    this.#nexts[id] = this.#buckets[bucket]!;
    this.#buckets[bucket] = id;
  }

  #rehash(bucketCount: number): void {
    this.#buckets = new Int32Array(bucketCount).fill(NONE);
    for (let id = 0; id < this.#words.length; id++) {
      if (this.#useCounts[id]! > 0) this.#link(id);
    }
  }

  /** Counts one use less and forgets a word without uses. */
  release(id: number): void {
    this.#useCounts[id]! -= 1;
    if (this.#useCounts[id]! > 0) return;
    this.#unlink(id);
    this.#words[id] = "";
    this.#freeIds.push(id);
  }

  #unlink(id: number): void {
    const bucket = this.#hashes[id]! & (this.#buckets.length - 1);
    let at = this.#buckets[bucket]!;
    if (at === id) {
      this.#buckets[bucket] = this.#nexts[id]!;
      return;
    }
    while (this.#nexts[at] !== id) at = this.#nexts[at]!;
    this.#nexts[at] = this.#nexts[id]!;
  }
}
