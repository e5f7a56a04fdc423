// Seeded random numbers (sfc32). The same seed gives the same sequence on every runtime, so tests,
// the simulation and jitter can be replayed. The broker is given one and never makes its own seed.
// Not for secrets.

/** A deterministic source of random numbers. */
export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  /** Creates a generator. Any number is a seed, and equal seeds give equal sequences. */
  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) | 0;
    this.#c = 0x9e3779b9 | 0;
    this.#counter = 1;
    // The first outputs still show the seed's structure.
    for (let i = 0; i < 12; i++) this.nextU32();
  }

  /** The next unsigned 32-bit integer. */
  nextU32(): number {
    const mixed = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + mixed) | 0;
    return mixed >>> 0;
  }

  /** The next double in [0, 1). */
  nextFloat(): number {
    return this.nextU32() / 0x1_0000_0000;
  }

  /** The next integer in [0, bound); `bound` at most 2^32. */
  nextBelow(bound: number): number {
    return Math.floor(this.nextFloat() * bound);
  }
}
