// Messages that came back to their old positions and stand in front of a lane's chunks, smallest
// position first. A lane owns a heap while it needs one. An instant requeue is rare, so a binary
// heap over flat arrays is enough.

const CAPACITY_MIN = 16;
// Up to this many, the first messages are looked for one by one; more are found by sorting all.
const FEW_MAX = 512;
const SORTED_MAX = 16_384;

/** A binary min-heap of (position, ref, entry, expiry). */
export class RequeuedHeap {
  #position = new Float64Array(CAPACITY_MIN);
  #expiry = new Float64Array(CAPACITY_MIN);
  #ref = new Uint32Array(CAPACITY_MIN);
  #entry = new Uint32Array(CAPACITY_MIN);
  count = 0;
  /**
   * No message in the heap expires before this, ms. The message that set it may have left already.
   */
  expiryMinMs = Infinity;

  /** Bytes of the arrays. */
  get memoryBytes(): number {
    return this.#position.length * 24;
  }

  positionAt(index: number): number {
    return this.#position[index]!;
  }

  refAt(index: number): number {
    return this.#ref[index]!;
  }

  entryAt(index: number): number {
    return this.#entry[index]!;
  }

  expiryAt(index: number): number {
    return this.#expiry[index]!;
  }

  /** Adds a message; O(1) when positions come in rising order. */
  push(position: number, ref: number, entry: number, expiryMs: number): void {
    if (this.count === this.#position.length) this.#resize(this.count * 2);
    let index = this.count++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#position[parent]! <= position) break;
      this.#copy(parent, index);
      index = parent;
    }
    this.#position[index] = position;
    this.#ref[index] = ref;
    this.#entry[index] = entry;
    this.#expiry[index] = expiryMs;
    if (expiryMs < this.expiryMinMs) this.expiryMinMs = expiryMs;
  }

  /** Removes any message and returns its reference, for a caller that removes all. */
  takeLast(): number {
    return this.#ref[--this.count]!;
  }

  /** Removes the message with the smallest position, which is at index 0. */
  shift(): void {
    const last = --this.count;
    if (last > 0) this.#sink(0, last);
    if (last === 0) {
      this.expiryMinMs = Infinity;
      if (this.#position.length > CAPACITY_MIN) this.#resize(CAPACITY_MIN);
    }
  }

  /** Indexes of the first `max` messages in order of position, for looking only. */
  ordered(max = this.count): number[] {
    if (max > FEW_MAX || max >= this.count) {
      const indexes = Array.from({ length: this.count }, (_, index) => index);
      return this.#sorted(indexes).slice(0, max);
    }
    // No message is smaller than its parent, so the next smallest is a child of one taken before.
    const taken: number[] = [];
    const next = [0];
    while (taken.length < max) {
      const index = this.#takeSmallest(next);
      taken.push(index);
      const child = index * 2 + 1;
      if (child < this.count) next.push(child);
      if (child + 1 < this.count) next.push(child + 1);
    }
    return taken;
  }

  #sorted(indexes: number[]): number[] {
    return indexes.sort((a, b) => this.#position[a]! - this.#position[b]!);
  }

  #takeSmallest(indexes: number[]): number {
    let at = 0;
    for (let i = 1; i < indexes.length; i++) {
      if (this.#position[indexes[i]!]! < this.#position[indexes[at]!]!) at = i;
    }
    return indexes.splice(at, 1)[0]!;
  }

  /** Takes out every message with expiry at or before `nowMs`, at most `max`, in order. */
  expire(nowMs: number, max: number, visit: (index: number) => void): number {
    let taken = 0;
    // Messages that came back together mostly expire in their order, so the first ones can simply
    // be taken.
    while (taken < max && this.count > 0 && this.#expiry[0]! <= nowMs) {
      visit(0);
      this.shift();
      taken++;
    }
    // A later call finds the rest.
    if (taken === max || this.count === 0) return taken;
    return taken + this.#expireScattered(nowMs, max - taken, visit);
  }

  #expireScattered(nowMs: number, max: number, visit: (index: number) => void): number {
    const expired: number[] = [];
    for (let index = 0; index < this.count; index++) {
      if (this.#expiry[index]! <= nowMs) expired.push(index);
    }
    // Sorting very many would take long. They leave in the order of the heap, which is nearly
    // sorted.
    const isMany = expired.length > SORTED_MAX;
    const due = isMany ? expired.slice(0, max) : this.#sorted(expired).slice(0, max);
    for (const index of isMany ? this.#sorted(due) : due) visit(index);
    if (due.length > 0) this.#remove(new Set(due));
    this.expiryMinMs = Infinity;
    for (let index = 0; index < this.count; index++) {
      this.expiryMinMs = Math.min(this.expiryMinMs, this.#expiry[index]!);
    }
    return due.length;
  }

  #remove(indexes: Set<number>): void {
    const total = this.count;
    this.count = 0;
    // Each kept message moves toward the front, so a push never overwrites a message that is still
    // to be read.
    for (let index = 0; index < total; index++) {
      if (indexes.has(index)) continue;
      this.push(
        this.#position[index]!,
        this.#ref[index]!,
        this.#entry[index]!,
        this.#expiry[index]!,
      );
    }
  }

  // Moves the hole at `index` down and fills it with the message at `from`.
  #sink(index: number, from: number): void {
    const position = this.#position[from]!;
    let hole = index;
    for (;;) {
      let child = hole * 2 + 1;
      if (child >= this.count) break;
      if (child + 1 < this.count && this.#position[child + 1]! < this.#position[child]!) child++;
      if (this.#position[child]! >= position) break;
      this.#copy(child, hole);
      hole = child;
    }
    if (hole !== from) this.#copy(from, hole);
  }

  #copy(from: number, to: number): void {
    this.#position[to] = this.#position[from]!;
    this.#ref[to] = this.#ref[from]!;
    this.#entry[to] = this.#entry[from]!;
    this.#expiry[to] = this.#expiry[from]!;
  }

  #resize(capacity: number): void {
    const kept = this.count;
    const position = new Float64Array(capacity);
    position.set(this.#position.subarray(0, kept));
    this.#position = position;
    const expiry = new Float64Array(capacity);
    expiry.set(this.#expiry.subarray(0, kept));
    this.#expiry = expiry;
    const ref = new Uint32Array(capacity);
    ref.set(this.#ref.subarray(0, kept));
    this.#ref = ref;
    const entry = new Uint32Array(capacity);
    entry.set(this.#entry.subarray(0, kept));
    this.#entry = entry;
  }
}
