// The compiled form of a pattern: a graph of instructions in flat arrays. compiler.ts makes it, and
// matcher.ts walks it. The graph has no circle of instructions that take no character, so each
// instruction has one answer at each place of a text.

import type { CharacterSet } from "./character_set.ts";

/** The text matches, or the part of the pattern that was asked for. */
export const ACCEPT = 0;
/** Takes the character `operand`. */
export const TAKE = 1;
/** Takes a character of the set `operand`. */
export const TAKE_SET = 2;
/** Goes on at `next` and, if that fails, at `other`. */
export const FORK = 3;
/** Goes on if what begins at `operand` matches here. */
export const LOOK = 4;
/** Goes on if what begins at `operand` does not match here. */
export const LOOK_NOT = 5;
/**
 * Takes what begins at `operand` in the first way that matches. Goes on at `next`, or at `other` if
 * nothing was taken.
 */
export const ATOMIC = 6;
/** Goes back by `operand` characters. */
export const BACK = 7;
/** Goes on if this is the place number `operand` of `ANCHORS` (syntax.ts). */
export const ANCHOR = 8;

/** A compiled pattern. Instruction `i` is described by element `i` of each array. */
export interface Program {
  readonly operations: Uint8Array;
  readonly operands: Int32Array;
  readonly nexts: Int32Array;
  readonly others: Int32Array;
  /**
   * Numbers the instructions that several others lead to; -1 for the rest. Only at these the matcher
   * can come by twice, so only these have their answers kept.
   */
  readonly joins: Int32Array;
  readonly joinCount: number;
  readonly sets: readonly CharacterSet[];
  readonly start: number;
  /** The most steps at one place of a text. */
  readonly stepsPerPlaceMax: number;
}
