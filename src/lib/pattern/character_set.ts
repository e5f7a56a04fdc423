// Sets of characters, and the test of membership, which the matcher makes once per character of a
// text. The sets that patterns name by a letter or a word are in named_sets.ts.

/** Inclusive ranges of code points. */
export type Ranges = readonly (readonly [low: number, high: number])[];

/** A property of Unicode, such as "letter"; the runtime knows which characters have it. */
export interface Property {
  /** Matches a text of one character that has the property. */
  readonly expression: RegExp;
  readonly isNegated: boolean;
}

/** The largest code point. */
export const CODE_POINT_MAX = 0x10ffff;
const ASCII_COUNT = 128;
/** A test of a property costs as much as so many other steps. */
const PROPERTY_STEPS = 8;

/** What makes a set. */
export interface CharacterSetParts {
  readonly ranges: Ranges;
  readonly properties?: readonly Property[];
  readonly isNegated?: boolean;
  /** Whether a character belongs to the set when it does so in the other case. */
  readonly ignoresCase?: boolean;
}

/** A set of characters. */
export class CharacterSet {
  /** Sorted ranges that do not touch: low, high, low, high … */
  readonly #bounds: readonly number[];
  readonly #properties: readonly Property[];
  readonly #isNegated: boolean;
  readonly #ignoresCase: boolean;
  /** The answers for ASCII, which almost every name consists of. */
  readonly #ascii: Uint8Array;
  /** What a test of membership costs, in steps of the matcher. */
  readonly steps: number;

  /** Creates the set. */
  constructor(
    { ranges, properties = [], isNegated = false, ignoresCase = false }: CharacterSetParts,
  ) {
    this.#bounds = merged(ranges).flat();
    this.#properties = properties;
    this.#isNegated = isNegated;
    this.#ignoresCase = ignoresCase;
    this.#ascii = this.#asciiAnswers();
    this.steps = 1 + properties.length * PROPERTY_STEPS;
  }

  /** Whether the set holds the character. */
  holds(codePoint: number): boolean {
    return codePoint < ASCII_COUNT ? this.#ascii[codePoint] === 1 : this.#decide(codePoint);
  }

  #asciiAnswers(): Uint8Array {
    if (this.#properties.length > 0) {
      return Uint8Array.from({ length: ASCII_COUNT }, (_, c) => this.#decide(c) ? 1 : 0);
    }
    const answers = new Uint8Array(ASCII_COUNT);
    for (let i = 0; i < this.#bounds.length; i += 2) {
      answers.fill(1, this.#bounds[i], this.#bounds[i + 1]! + 1);
    }
    for (let upper = 65; this.#ignoresCase && upper <= 90; upper++) {
      answers[upper] = answers[upper + 32] = answers[upper]! | answers[upper + 32]!;
    }
    return this.#isNegated ? answers.map((answer) => 1 - answer) : answers;
  }

  #decide(codePoint: number): boolean {
    return this.#contains(codePoint) !== this.#isNegated;
  }

  #contains(codePoint: number): boolean {
    if (isWithin(this.#bounds, codePoint)) return true;
    if (this.#properties.length === 0 && !this.#ignoresCase) return false;
    const character = String.fromCodePoint(codePoint);
    return this.#hasProperty(character) || (this.#ignoresCase && this.#listsOtherCase(character));
  }

  #hasProperty(character: string): boolean {
    return this.#properties.some(({ expression, isNegated }) =>
      expression.test(character) !== isNegated
    );
  }

  /** As in PCRE, only listed characters match in either case; a property is what it is. */
  #listsOtherCase(character: string): boolean {
    return isWithin(this.#bounds, onlyCodePoint(character.toLowerCase())) ||
      isWithin(this.#bounds, onlyCodePoint(character.toUpperCase()));
  }
}

function isWithin(bounds: readonly number[], codePoint: number): boolean {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bounds[middle]! < codePoint) low = middle + 1;
    else high = middle;
  }
  // An odd index is the upper bound of a range; an even one is a lower bound, which must be met.
  return low % 2 === 1 || bounds[low] === codePoint;
}

/** Returns the ranges of a character and of its other cases. */
export function caseVariants(codePoint: number): Ranges {
  const character = String.fromCodePoint(codePoint);
  return [character.toLowerCase(), character.toUpperCase(), character]
    .map(onlyCodePoint)
    .filter((variant) => variant >= 0)
    .map((variant) => [variant, variant]);
}

/** Returns the text's code point, or -1 when it has several: ß has no upper case of its own. */
function onlyCodePoint(text: string): number {
  const codePoint = text.codePointAt(0)!;
  return text.length === (codePoint > 0xffff ? 2 : 1) ? codePoint : -1;
}

/** Returns the same characters as sorted ranges that do not touch. */
function merged(ranges: Ranges): [number, number][] {
  const result: [number, number][] = [];
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else result.push([low, high]);
  }
  return result;
}

/** Returns the ranges of all characters that are not in `ranges`. */
export function complement(ranges: Ranges): Ranges {
  const gaps: [number, number][] = [];
  let from = 0;
  for (const [low, high] of merged(ranges)) {
    if (low > from) gaps.push([from, low - 1]);
    from = high + 1;
  }
  if (from <= CODE_POINT_MAX) gaps.push([from, CODE_POINT_MAX]);
  return gaps;
}
