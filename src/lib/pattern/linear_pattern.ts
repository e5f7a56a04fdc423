// Regular expressions from outside, matched in time linear in the text: all alternatives advance
// together, so no pattern can take forever. Used for filters of lists and wherever a client or an
// operator passes a pattern. It never runs JavaScript's own regular expressions, which backtrack.

import { holds, isWordCharacter } from "./character_class.ts";
import { parsePattern } from "./parser.ts";
import {
  AT_END,
  AT_START,
  AT_WORD_EDGE,
  type CharacterSet,
  FORK,
  JUMP,
  MATCH,
  type Piece,
  TAKE,
} from "./program.ts";

export { PatternError } from "./pattern_error.ts";

/** How to compile a pattern. */
export interface PatternOptions {
  /** Whether letters match in either case. */
  ignoreCase?: boolean;
}

/** A compiled pattern. */
export class LinearPattern {
  readonly #program: Piece;
  readonly #ignoreCase: boolean;
  /** The most steps that a character of a text can take. */
  readonly stepsPerCharacterMax: number;
  /** Steps that the last test took. */
  lastSteps = 0;

  /** Compiles `source`; throws `PatternError` when it is wrong or cannot be matched in linear time. */
  constructor(source: string, options: PatternOptions = {}) {
    this.#program = parsePattern(source);
    this.#ignoreCase = options.ignoreCase ?? false;
    this.stepsPerCharacterMax = this.#program.reduce((sum, { set }) => sum + 1 + stepsOf(set), 0);
  }

  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    const characters = Array.from(text, (character) => character.codePointAt(0)!);
    const program = this.#program;
    const seenAt = new Int32Array(program.length).fill(-1);
    let current: number[] = [];
    let next: number[] = [];
    this.lastSteps = 0;
    for (let at = 0; at <= characters.length; at++) {
      const place = { characters, at, seenAt };
      this.lastSteps += 1 + current.length;
      // A match may begin at every character.
      if (follow(program, 0, place, current)) return true;
      if (at === characters.length) return false;
      const after = { characters, at: at + 1, seenAt };
      for (const index of current) {
        const set = program[index]!.set!;
        this.lastSteps += stepsOf(set);
        if (!this.#takes(set, characters[at]!)) continue;
        if (follow(program, index + 1, after, next)) return true;
      }
      [current, next] = [next, current];
      next.length = 0;
    }
    return false;
  }

  #takes(set: CharacterSet, codePoint: number): boolean {
    if (!this.#ignoreCase) return holds(set, codePoint);
    const character = String.fromCodePoint(codePoint);
    const lower = character.toLowerCase().codePointAt(0)!;
    const upper = character.toUpperCase().codePointAt(0)!;
    if (set.isNegated) return holds(set, lower) && holds(set, upper);
    return holds(set, codePoint) || holds(set, lower) || holds(set, upper);
  }
}

// Every range may have to be looked at for both cases of a letter.
function stepsOf(set: CharacterSet | null): number {
  return set === null ? 0 : 3 * set.ranges.length;
}

interface Place {
  readonly characters: readonly number[];
  readonly at: number;
  /**
   * For each instruction, the last place at which it was reached. Each is entered once per place.
   */
  readonly seenAt: Int32Array;
}

/** Adds the TAKE instructions reachable from `start` to `threads`; true when a match is among them. */
function follow(program: Piece, start: number, place: Place, threads: number[]): boolean {
  const open = [start];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (place.seenAt[index] === place.at) continue;
    place.seenAt[index] = place.at;
    const { operation, first, second } = program[index]!;
    if (operation === MATCH) return true;
    if (operation === TAKE) threads.push(index);
    else if (operation === JUMP) open.push(first);
    else if (operation === FORK) open.push(second, first);
    else if (anchorHolds(operation, first === 1, place)) open.push(index + 1);
  }
  return false;
}

function anchorHolds(operation: number, isNegated: boolean, place: Place): boolean {
  const { characters, at } = place;
  if (operation === AT_START) return at === 0;
  if (operation === AT_END) return at === characters.length;
  const isEdge = operation === AT_WORD_EDGE &&
    isWordCharacter(characters[at - 1]) !== isWordCharacter(characters[at]);
  return isEdge !== isNegated;
}
