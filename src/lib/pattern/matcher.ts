// Matches a text with a program, trying one way after the other as PCRE does. What is different: an
// instruction that was tried at a place is not tried there again, because its answer is known. So the
// number of steps is bounded by the size of the program times the length of the text.

import type { CharacterSet } from "./character_set.ts";
import { isWordCharacter } from "./named_sets.ts";
import {
  ACCEPT,
  ANCHOR,
  ATOMIC,
  BACK,
  FORK,
  LOOK,
  LOOK_NOT,
  type Program,
  TAKE,
  TAKE_SET,
} from "./program.ts";
import { ANCHORS } from "./syntax.ts";

/** No way leads from here to a match. */
const NO = -1;
/** An answer that is not there yet, and a NO that is kept; a place where a match ends comes behind. */
const UNKNOWN = 0;
const FAILED = 1;
const FIRST_END = 2;
/** Answers of this many instructions and places are kept in memory that all matchers share. */
const SHARED_CELLS = 16_384;

const LINE_FEED = 10;

// One match runs to its end before the next one begins, so they can share their memory.
const sharedAnswers = new Uint16Array(SHARED_CELLS);
const sharedStack: number[] = [];
const STACK_KEPT = 65_536;

/** One match of a program with a text. */
export class Matcher {
  readonly #program: Program;
  readonly #characters: readonly number[];
  /** The answers of the joins: for each, one of every place. */
  readonly #answers: Uint16Array;
  readonly #placeCount: number;
  /** What is left to try, each with its place; and the joins (negative) that the current way has. */
  readonly #stack = sharedStack;
  /** Steps so far. */
  steps = 0;

  /** Prepares to match a text, which is given as its code points. */
  constructor(program: Program, characters: readonly number[]) {
    this.#program = program;
    this.#characters = characters;
    this.#placeCount = characters.length + 1;
    const cellCount = program.joinCount * this.#placeCount;
    const isShared = cellCount <= SHARED_CELLS;
    this.#answers = isShared
      ? sharedAnswers.fill(UNKNOWN, 0, cellCount)
      : new Uint16Array(cellCount);
  }

  /** Whether the program matches anywhere in the text. */
  run(): boolean {
    const { operations, operands, start } = this.#program;
    const isAnchored = operations[start] === ANCHOR && ANCHORS[operands[start]!] === "text start";
    const last = isAnchored ? 0 : this.#characters.length;
    let matches = false;
    for (let place = 0; place <= last && !matches; place++) {
      matches = this.#end(start, place, true) !== NO;
    }
    if (this.#stack.length > STACK_KEPT) this.#stack.length = 0;
    return matches;
  }

  /**
   * Returns where the first match ends that begins with this instruction at this place. `isWhole`
   * says that a match is the end of everything, so that its way need not be known.
   */
  #end(start: number, from: number, isWhole = false): number {
    const { operations, operands, nexts, others, joins, sets } = this.#program;
    const characters = this.#characters;
    const stack = this.#stack;
    const base = stack.length;
    let index = start;
    let place = from;
    for (;;) {
      this.steps++;
      let next = nexts[index]!;
      const join = joins[index]!;
      const cell = join * this.#placeCount + place;
      const known = join < 0 ? UNKNOWN : this.#answers[cell]!;
      if (known >= FIRST_END) return this.#succeed(base, known - FIRST_END);
      if (known === FAILED) next = NO;
      else {
        if (join >= 0) {
          // It has failed unless this way, which passes it, leads to a match.
          this.#answers[cell] = FAILED;
          if (!isWhole) stack.push(NO - cell, place);
        }
        switch (operations[index]) {
          case ACCEPT:
            return this.#succeed(base, place);
          case TAKE:
            if (characters[place++] !== operands[index]) next = NO;
            break;
          case TAKE_SET:
            if (!this.#takes(sets[operands[index]!]!, place++)) next = NO;
            break;
          case FORK:
            stack.push(others[index]!, place);
            break;
          case ANCHOR:
            if (!this.#isAt(operands[index]!, place)) next = NO;
            break;
          case LOOK:
          case LOOK_NOT: {
            const isThere = this.#end(operands[index]!, place) !== NO;
            if (isThere !== (operations[index] === LOOK)) next = NO;
            break;
          }
          case ATOMIC: {
            const end = this.#end(operands[index]!, place);
            if (end === place) next = others[index]!;
            if (end === NO) next = NO;
            place = end;
            break;
          }
          case BACK:
            place -= operands[index]!;
            if (place < 0) next = NO;
            break;
        }
      }
      while (next < 0) {
        if (stack.length === base) return NO;
        place = stack.pop()!;
        next = stack.pop()!;
      }
      index = next;
    }
  }

  /** Ends a match at `end`, which is the answer of every join on its way. */
  #succeed(base: number, end: number): number {
    const stack = this.#stack;
    while (stack.length > base) {
      stack.pop();
      const index = stack.pop()!;
      if (index < 0) this.#answers[NO - index] = FIRST_END + end;
    }
    return end;
  }

  #takes(set: CharacterSet, place: number): boolean {
    this.steps += set.steps - 1;
    return place < this.#characters.length && set.holds(this.#characters[place]!);
  }

  #isAt(anchor: number, place: number): boolean {
    const characters = this.#characters;
    const length = characters.length;
    switch (ANCHORS[anchor]!) {
      case "text start":
        return place === 0;
      case "text end":
        return place === length;
      case "text end or last line break":
        return place === length || (place === length - 1 && characters[place] === LINE_FEED);
      case "line start":
        return place === 0 || (place < length && characters[place - 1] === LINE_FEED);
      case "line end":
        return place === length || characters[place] === LINE_FEED;
      case "word edge":
        return this.#isWordEdge(place);
      case "no word edge":
        return !this.#isWordEdge(place);
    }
  }

  #isWordEdge(place: number): boolean {
    return this.#isWord(place - 1) !== this.#isWord(place);
  }

  #isWord(place: number): boolean {
    return place >= 0 && place < this.#characters.length &&
      isWordCharacter(this.#characters[place]!);
  }
}
