// The instructions of a compiled pattern, and the functions that assemble them. Alternatives are
// tried side by side, never one after the other. parser.ts builds programs, linear_pattern.ts runs
// them. The size of a program is bounded, whatever repetitions a person writes.

import { PatternError } from "./pattern_error.ts";

/** Takes one character that `set` holds. */
export const TAKE = 0;
/** Goes on at two places. */
export const FORK = 1;
/** Goes on at one other place. */
export const JUMP = 2;
/** Holds at the start of the text. */
export const AT_START = 3;
/** Holds at the end of the text. */
export const AT_END = 4;
/** Holds between a word character and another one; `first` is 1 for the opposite. */
export const AT_WORD_EDGE = 5;
/** The text matches. */
export const MATCH = 6;

/** Inclusive ranges of code points, or all code points outside of them. */
export interface CharacterSet {
  readonly ranges: readonly (readonly [number, number])[];
  readonly isNegated: boolean;
}

/** One instruction. The meaning of `first` and `second` depends on the operation. */
export interface Instruction {
  readonly operation: number;
  first: number;
  second: number;
  readonly set: CharacterSet | null;
}

/** A piece of a program whose jumps count from its own start, so that it can be copied. */
export type Piece = readonly Instruction[];

/** Most instructions of one pattern. */
export const INSTRUCTIONS_MAX = 2000;

function instruction(operation: number, first = 0, second = 0): Instruction {
  return { operation, first, second, set: null };
}

/** Returns a piece that takes one character. */
export function take(set: CharacterSet): Piece {
  return [{ operation: TAKE, first: 0, second: 0, set }];
}

/** Returns a piece that takes no character and tests the place. */
export function anchor(operation: number, isNegated = false): Piece {
  return [instruction(operation, isNegated ? 1 : 0)];
}

/** Returns a piece that ends a match. */
export function end(): Piece {
  return [instruction(MATCH)];
}

/** Returns a piece that is one piece after the other. */
export function sequence(pieces: readonly Piece[]): Piece {
  const program: Instruction[] = [];
  for (const piece of pieces) append(program, piece);
  return program;
}

/** Returns a piece that matches any of the pieces. */
export function alternatives(pieces: readonly Piece[]): Piece {
  return pieces.reduceRight((rest, piece) => {
    const program = [instruction(FORK, 1, piece.length + 2)];
    append(program, piece);
    program.push(instruction(JUMP, program.length + 1 + rest.length));
    append(program, rest);
    return program;
  });
}

/** Returns a piece repeated from `min` to `max` times; `max` may be Infinity. */
export function repeat(piece: Piece, min: number, max: number): Piece {
  const program: Instruction[] = [];
  for (let count = 0; count < min; count++) append(program, piece);
  if (max === Infinity) {
    const start = program.length;
    program.push(instruction(FORK, start + 1, start + piece.length + 2));
    append(program, piece);
    program.push(instruction(JUMP, start));
    return program;
  }
  // An empty piece repeated is the piece itself. A FORK before each optional copy may leave early.
  const total = min + (max - min) * (piece.length + 1);
  if (total > INSTRUCTIONS_MAX) throw tooLong();
  const finish = program.length + (max - min) * (piece.length + 1);
  for (let count = min; count < max; count++) {
    program.push(instruction(FORK, program.length + 1, finish));
    append(program, piece);
  }
  return program;
}

function append(program: Instruction[], piece: Piece): void {
  if (program.length + piece.length > INSTRUCTIONS_MAX) throw tooLong();
  const base = program.length;
  for (const { operation, first, second, set } of piece) {
    const moves = operation === FORK || operation === JUMP;
    program.push({
      operation,
      first: moves ? first + base : first,
      second: operation === FORK ? second + base : second,
      set,
    });
  }
}

function tooLong(): PatternError {
  return new PatternError("the pattern is too long when its repetitions are written out");
}
