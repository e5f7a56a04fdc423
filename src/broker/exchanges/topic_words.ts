// The words that occur in the binding patterns of one topic exchange, numbered. A routing key's words
// are looked up in place, character by character, so that matching cuts no strings. Counted, so that
// words no pattern uses any more are forgotten. Used by topic.ts only.

const NONE = -1;
const BUCKETS_MIN = 16;
const HASH_START = 0x811c9dc5;
const HASH_PRIME = 0x01000193;

function hashWord(text: string, start: number, end: number): number {
  let hash = HASH_START | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), HASH_PRIME);
  return hash;
}

function holdsWord(text: string, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let i = 0; i < word.length; i++) {
    if (text.charCodeAt(start + i) !== word.charCodeAt(i)) return false;
  }
  return true;
}

/** Numbers for words; ids are small, dense and reused. */
export class TopicWords {
  // Chained hashing: #buckets -> id -> #nexts -> id … -> NONE.
  #buckets = new Int32Array(BUCKETS_MIN).fill(NONE);
  readonly #words: string[] = [];
  readonly #hashes: number[] = [];
  readonly #nexts: number[] = [];
  readonly #useCounts: number[] = [];
  readonly #freeIds: number[] = [];

  /** How many words are known. */
  get count(): number {
    return this.#words.length - this.#freeIds.length;
  }

  /** The number of the word `text[start, end)`, or -1 if no pattern has it. Allocates nothing. */
  find(text: string, start: number, end: number): number {
    const hash = hashWord(text, start, end);
    let id = this.#buckets[hash & (this.#buckets.length - 1)]!;
    while (id !== NONE) {
      if (this.#hashes[id] === hash && holdsWord(text, start, end, this.#words[id]!)) return id;
      id = this.#nexts[id]!;
    }
    return NONE;
  }

  /** The number of a word, given out if it is new; one more user of it. */
  acquire(word: string): number {
    const id = this.find(word, 0, word.length);
    if (id === NONE) return this.#insert(word);
    this.#useCounts[id]! += 1;
    return id;
  }

  #insert(word: string): number {
    const id = this.#freeIds.pop() ?? this.#words.length;
    this.#words[id] = word;
    this.#hashes[id] = hashWord(word, 0, word.length);
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

  /** One user of a word fewer; the last one makes it forgotten. */
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
