// Reads a regular expression and builds its program. linear_pattern.ts calls it. It refuses
// look-around and back references, which cannot be matched in time linear in the text.

import { classEscape, DOT } from "./character_class.ts";
import { PatternError } from "./pattern_error.ts";
import {
  alternatives,
  anchor,
  AT_END,
  AT_START,
  AT_WORD_EDGE,
  type CharacterSet,
  end,
  type Piece,
  repeat,
  sequence,
  take,
} from "./program.ts";

const SOURCE_LENGTH_MAX = 1024;
const DEPTH_MAX = 50;
const REPEAT_MAX = 1000;

const CONTROL_ESCAPES: Readonly<Record<string, number>> = {
  n: 10,
  r: 13,
  t: 9,
  f: 12,
  v: 11,
  "0": 0,
};

/** Compiles `source`; throws {@linkcode PatternError}. */
export function parsePattern(source: string): Piece {
  if (source.length > SOURCE_LENGTH_MAX) throw new PatternError("the pattern is too long");
  return new Parser(source).parse();
}

class Parser {
  readonly #characters: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#characters = [...source];
  }

  parse(): Piece {
    const piece = this.#choice();
    if (this.#at < this.#characters.length) throw new PatternError("unmatched )");
    return sequence([piece, end()]);
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at++];
    if (character === undefined) throw new PatternError("the pattern ends too early");
    return character;
  }

  #skip(text: string): boolean {
    if (!text.startsWith(this.#peek() ?? "\0")) return false;
    const found = this.#characters.slice(this.#at, this.#at + text.length).join("");
    if (found !== text) return false;
    this.#at += text.length;
    return true;
  }

  #choice(): Piece {
    const branches = [this.#branch()];
    while (this.#skip("|")) branches.push(this.#branch());
    return alternatives(branches);
  }

  #branch(): Piece {
    const pieces: Piece[] = [];
    for (let next = this.#peek(); next !== undefined; next = this.#peek()) {
      if (next === "|" || next === ")") break;
      pieces.push(this.#quantified());
    }
    return sequence(pieces);
  }

  #quantified(): Piece {
    let piece = this.#atom();
    for (let bounds = this.#bounds(); bounds !== null; bounds = this.#bounds()) {
      piece = repeat(piece, bounds[0], bounds[1]);
      // Lazy and possessive quantifiers change what is captured, not whether there is a match.
      if (!this.#skip("?")) this.#skip("+");
    }
    return piece;
  }

  #bounds(): [number, number] | null {
    if (this.#skip("*")) return [0, Infinity];
    if (this.#skip("+")) return [1, Infinity];
    if (this.#skip("?")) return [0, 1];
    const rest = this.#characters.slice(this.#at, this.#at + 12).join("");
    const counted = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(rest);
    if (counted === null) return null;
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    const max = counted[2] === undefined ? min : counted[3] === "" ? Infinity : Number(counted[3]);
    const isUsable = min <= max && min <= REPEAT_MAX && (max <= REPEAT_MAX || max === Infinity);
    if (!isUsable) throw new PatternError(`repetition ${counted[0]} is out of range`);
    return [min, max];
  }

  #atom(): Piece {
    const character = this.#next();
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return take(this.#class());
      case ".":
        return take(DOT);
      case "^":
        return anchor(AT_START);
      case "$":
        return anchor(AT_END);
      case "\\":
        return this.#escape();
      case "*":
      case "+":
      case "?":
        throw new PatternError(`nothing to repeat before ${character}`);
      default:
        return take(single(character.codePointAt(0)!));
    }
  }

  #group(): Piece {
    if (++this.#depth > DEPTH_MAX) throw new PatternError("groups are nested too deep");
    const isPlain = this.#skip("?:") || this.#peek() !== "?";
    if (!isPlain) throw new PatternError("look-around and inline options are not supported");
    const piece = this.#choice();
    if (!this.#skip(")")) throw new PatternError("missing )");
    this.#depth--;
    return piece;
  }

  #escape(): Piece {
    const letter = this.#next();
    if (letter === "b" || letter === "B") return anchor(AT_WORD_EDGE, letter === "B");
    if (letter === "A") return anchor(AT_START);
    if (letter === "z" || letter === "Z") return anchor(AT_END);
    return take(classEscape(letter) ?? single(this.#escapedCodePoint(letter)));
  }

  #escapedCodePoint(letter: string): number {
    const control = CONTROL_ESCAPES[letter];
    if (control !== undefined) return control;
    if (letter === "x") return this.#hexadecimal(2);
    if (letter === "u") return this.#hexadecimal(4);
    if (/[a-zA-Z0-9]/.test(letter)) throw new PatternError(`\\${letter} is not supported`);
    return letter.codePointAt(0)!;
  }

  #hexadecimal(digitCount: number): number {
    let digits = "";
    for (let i = 0; i < digitCount; i++) digits += this.#next();
    if (!/^[0-9a-fA-F]+$/.test(digits)) throw new PatternError("not a hexadecimal number");
    return Number.parseInt(digits, 16);
  }

  #class(): CharacterSet {
    const isNegated = this.#skip("^");
    const ranges: (readonly [number, number])[] = [];
    // A closing bracket in first place is a character of the set.
    do {
      const set = this.#classMember();
      const isRange = this.#peek() === "-" && this.#characters[this.#at + 1] !== "]";
      if (!isRange || set.isNegated || set.ranges.length !== 1) {
        ranges.push(...rangesOf(set));
        continue;
      }
      this.#next();
      ranges.push(rangeBetween(set, this.#classMember()));
    } while (this.#peek() !== "]");
    this.#next();
    return { ranges, isNegated };
  }

  #classMember(): CharacterSet {
    const character = this.#next();
    if (character !== "\\") return single(character.codePointAt(0)!);
    const letter = this.#next();
    if (letter === "b") return single(8);
    return classEscape(letter) ?? single(this.#escapedCodePoint(letter));
  }
}

function single(codePoint: number): CharacterSet {
  return { ranges: [[codePoint, codePoint]], isNegated: false };
}

function rangeBetween(low: CharacterSet, high: CharacterSet): readonly [number, number] {
  const from = low.ranges[0]![0];
  const to = high.ranges[0]?.[0] ?? -1;
  if (high.isNegated || high.ranges.length !== 1 || to < from) {
    throw new PatternError("a range of characters is out of order");
  }
  return [from, to];
}

const CODE_POINT_MAX = 0x10ffff;

/** Returns the ranges of a set, also of a negated one. */
function rangesOf({ ranges, isNegated }: CharacterSet): readonly (readonly [number, number])[] {
  if (!isNegated) return ranges;
  const gaps: (readonly [number, number])[] = [];
  let from = 0;
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (low > from) gaps.push([from, low - 1]);
    from = Math.max(from, high + 1);
  }
  if (from <= CODE_POINT_MAX) gaps.push([from, CODE_POINT_MAX]);
  return gaps;
}
