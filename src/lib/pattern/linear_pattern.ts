// Regular expressions from outside, in the language of PCRE that users of RabbitMQ know, matched in
// a number of steps that is bounded by pattern times text. Used for filters of lists and wherever a
// client or an operator passes a pattern. It never runs JavaScript's own regular expressions on what
// they pass: those go back without a limit.

import { assert } from "../assert.ts";
import { compile } from "./compiler.ts";
import { Matcher } from "./matcher.ts";
import { parsePattern } from "./parser.ts";
import type { Program } from "./program.ts";

export { PatternError } from "./pattern_error.ts";

/**
 * Longest text, in UTF-16 units. Names and routing keys have at most 255 bytes. The memory of a match
 * grows with pattern times text, to 80 MB at the limits of both.
 */
const TEXT_LENGTH_MAX = 4_096;

/** How to compile a pattern. */
export interface PatternOptions {
  /** Whether letters match in either case. */
  ignoreCase?: boolean;
  /**
   * Texts that stand for `{name}` in the pattern. Their characters mean themselves, so that the name
   * of a user cannot widen what the pattern allows.
   */
  variables?: Readonly<Record<string, string>>;
}

/** A compiled pattern. */
export class LinearPattern {
  readonly #program: Program;
  /** The most steps that a character of a text can take; the end of the text counts as one. */
  readonly stepsPerCharacterMax: number;
  /** Steps that the last test took. */
  lastSteps = 0;

  /** Compiles `source`; throws `PatternError` when it is wrong, too large or not supported. */
  constructor(source: string, { ignoreCase = false, variables = {} }: PatternOptions = {}) {
    this.#program = compile(parsePattern(source, { ignoreCase, variables }));
    this.stepsPerCharacterMax = this.#program.stepsPerPlaceMax;
  }

  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    assert(text.length <= TEXT_LENGTH_MAX, "names that are matched with patterns are short");
    const matcher = new Matcher(this.#program, codePointsOf(text));
    const matches = matcher.run();
    this.lastSteps = matcher.steps;
    return matches;
  }
}

function codePointsOf(text: string): number[] {
  const codePoints: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i)!;
    codePoints.push(codePoint);
    if (codePoint > 0xffff) i++;
  }
  return codePoints;
}
