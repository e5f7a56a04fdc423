// Sets of characters that patterns name by a letter, and the test of membership. The parser uses
// them, and the matcher once per character of a text.

import type { CharacterSet } from "./program.ts";

const DIGIT: readonly (readonly [number, number])[] = [[48, 57]];
const WORD: readonly (readonly [number, number])[] = [[48, 57], [65, 90], [95, 95], [97, 122]];
const SPACE: readonly (readonly [number, number])[] = [[9, 13], [32, 32], [160, 160]];

/** Everything but a line break. */
export const DOT: CharacterSet = { ranges: [[10, 10]], isNegated: true };

/** Returns the set of `\d`, `\w`, `\s` and their opposites, or undefined for another letter. */
export function classEscape(letter: string): CharacterSet | undefined {
  switch (letter) {
    case "d":
    case "D":
      return { ranges: DIGIT, isNegated: letter === "D" };
    case "w":
    case "W":
      return { ranges: WORD, isNegated: letter === "W" };
    case "s":
    case "S":
      return { ranges: SPACE, isNegated: letter === "S" };
    default:
      return undefined;
  }
}

/** Whether the set holds the character. */
export function holds(set: CharacterSet, codePoint: number): boolean {
  for (const [low, high] of set.ranges) {
    if (codePoint >= low && codePoint <= high) return !set.isNegated;
  }
  return set.isNegated;
}

/** Whether a character belongs to words, for `\b`. Undefined stands for the outside of the text. */
export function isWordCharacter(codePoint: number | undefined): boolean {
  return codePoint !== undefined && holds({ ranges: WORD, isNegated: false }, codePoint);
}
