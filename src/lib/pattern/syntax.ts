// What a regular expression says, as a tree. parser.ts makes it from text, and compiler.ts makes a
// program from it. What only concerns captures is not in it: a pattern matches or it does not.

import type { CharacterSet } from "./character_set.ts";

/** Places that a pattern can ask for without taking a character. */
export const ANCHORS = [
  "text start",
  "text end",
  "text end or last line break",
  "line start",
  "line end",
  "word edge",
  "no word edge",
] as const;

/** One of {@linkcode ANCHORS}. */
export type Anchor = typeof ANCHORS[number];

/** How often something is repeated. */
export interface Repeat {
  readonly kind: "repeat";
  readonly body: Syntax;
  readonly min: number;
  /** Infinity for no upper bound. */
  readonly max: number;
  /** Whether fewer repetitions are tried first. It counts within atomic groups only. */
  readonly isLazy: boolean;
}

/** A text that must or must not follow. A look-behind is one that goes back first. */
interface Look {
  readonly kind: "look";
  readonly body: Syntax;
  readonly isNegated: boolean;
}

/** A part of a regular expression. */
export type Syntax =
  | { readonly kind: "character"; readonly codePoint: number }
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "anchor"; readonly anchor: Anchor }
  | { readonly kind: "sequence"; readonly parts: readonly Syntax[] }
  | { readonly kind: "choice"; readonly branches: readonly Syntax[] }
  | Repeat
  | Look
  /** The first way in which the body matches, and no other. */
  | { readonly kind: "atomic"; readonly body: Syntax }
  /** Goes back by so many characters; it only begins the branch of a look-behind. */
  | { readonly kind: "back"; readonly count: number };

/** Matches without taking a character. */
export const NOTHING: Syntax = { kind: "sequence", parts: [] };

/** Returns the one number of characters that the syntax takes, or null when there are several. */
export function fixedLength(syntax: Syntax): number | null {
  switch (syntax.kind) {
    case "character":
    case "set":
      return 1;
    case "anchor":
    case "look":
    case "back":
      return 0;
    case "atomic":
      return fixedLength(syntax.body);
    case "sequence":
      return syntax.parts.reduce<number | null>((sum, part) => {
        const length = fixedLength(part);
        return sum === null || length === null ? null : sum + length;
      }, 0);
    case "choice": {
      const lengths = new Set(syntax.branches.map(fixedLength));
      return lengths.size === 1 ? [...lengths][0]! : null;
    }
    case "repeat": {
      const length = fixedLength(syntax.body);
      return syntax.min !== syntax.max || length === null ? null : length * syntax.min;
    }
  }
}
