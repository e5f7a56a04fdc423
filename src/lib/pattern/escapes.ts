// Reads what comes after a backslash, in the form that it has both within brackets and outside of
// them: one character, or a set of characters. The parser and bracket.ts call it. References to
// captured text are refused here, by name.

import { CODE_POINT_MAX, type Property, type Ranges } from "./character_set.ts";
import type { Cursor } from "./cursor.ts";
import { letterRanges, namedProperty } from "./named_sets.ts";

/** One character or several of which one is taken. */
export type Member =
  | { readonly kind: "character"; readonly codePoint: number }
  | { readonly kind: "ranges"; readonly ranges: Ranges }
  | { readonly kind: "property"; readonly property: Property };

const CONTROLS: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["e", 27],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
]);
const HEXADECIMAL = /[0-9a-fA-F]/;
const OCTAL = /[0-7]/;

/** Reads an escape whose backslash is taken. */
export function readEscape(cursor: Cursor): Member {
  const letter = cursor.take();
  const ranges = letterRanges(letter);
  if (ranges !== undefined) return { kind: "ranges", ranges };
  if (letter === "p" || letter === "P") return readProperty(cursor, letter === "P");
  return { kind: "character", codePoint: readCodePoint(cursor, letter) };
}

function readCodePoint(cursor: Cursor, letter: string): number {
  if (letter === "") return cursor.fail("\\ at end of pattern");
  const control = CONTROLS.get(letter);
  if (control !== undefined) return control;
  if (letter === "x") return readHexadecimal(cursor);
  if (letter === "o") return readBracedNumber(cursor, OCTAL, "octal");
  if (letter === "c") return readControl(cursor);
  if (OCTAL.test(letter)) return Number.parseInt(letter + cursor.takeWhile(OCTAL, 2), 8);
  if (/[LlUu]/.test(letter)) {
    return cursor.fail("PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u", cursor.at - 1);
  }
  // Every other character stands for itself.
  return letter.codePointAt(0)!;
}

function readHexadecimal(cursor: Cursor): number {
  if (cursor.peek() === "{") return readBracedNumber(cursor, HEXADECIMAL, "hex");
  return Number.parseInt(`0${cursor.takeWhile(HEXADECIMAL, 2)}`, 16);
}

function readBracedNumber(cursor: Cursor, digit: RegExp, what: "hex" | "octal"): number {
  const name = what === "hex" ? "x" : "o";
  if (!cursor.takeText("{")) return cursor.fail("missing opening brace after \\o");
  if (cursor.peek() === "}") return cursor.fail("digits missing in \\x{} or \\o{}");
  const digits = cursor.takeWhile(digit);
  if (!cursor.takeText("}")) {
    return cursor.fail(`non-${what} character in \\${name}{} (closing brace missing?)`);
  }
  const codePoint = Number.parseInt(digits, what === "hex" ? 16 : 8);
  if (codePoint <= CODE_POINT_MAX) return codePoint;
  return cursor.fail("character value in \\x{} or \\o{} is too large", cursor.at - 1);
}

function readControl(cursor: Cursor): number {
  const codePoint = cursor.take().toUpperCase().codePointAt(0);
  if (codePoint === undefined) return cursor.fail("\\c at end of pattern");
  if (codePoint > 127) return cursor.fail("\\c must be followed by an ASCII character");
  return codePoint ^ 64;
}

function readProperty(cursor: Cursor, isOpposite: boolean): Member {
  let name = cursor.take();
  let isNegated = isOpposite;
  if (name === "{") {
    if (cursor.takeText("^")) isNegated = !isNegated;
    name = cursor.takeWhile(/[A-Za-z_&]/, 40);
    if (!cursor.takeText("}")) return cursor.fail("malformed \\P or \\p sequence");
  }
  if (name === "") return cursor.fail("malformed \\P or \\p sequence");
  const property = namedProperty(name, isNegated);
  if (property === undefined) {
    const isBraced = cursor.peek(-1) === "}";
    return cursor.fail("unknown property name after \\P or \\p", cursor.at - (isBraced ? 1 : 0));
  }
  return { kind: "property", property };
}

/**
 * Refuses what stands for captured text or for another group, and what no engine without going back
 * has; the backslash is taken. `groupCount` groups were opened before. Returns for everything else.
 */
export function refuseReference(cursor: Cursor, groupCount: number): void {
  const letter = cursor.peek();
  const start = cursor.at - 1;
  if (letter === "k") cursor.fail("backreferences are not supported: \\k", start);
  if (letter === "g") {
    const isCall = cursor.peek(1) === "<" || cursor.peek(1) === "'";
    const what = isCall ? "calls of other groups" : "backreferences";
    cursor.fail(`${what} are not supported: \\g`, start);
  }
  if (letter === "X" || letter === "C") cursor.fail(`\\${letter} is not supported`, start);
  if (!/[1-9]/.test(letter)) return;
  const digits = /^\d+/.exec(letter + cursor.peek(1) + cursor.peek(2))![0];
  // From 10, a number without such a group is the number of a character.
  const isReference = digits.length === 1 || Number(digits) <= groupCount || /^[89]/.test(digits);
  if (isReference) cursor.fail(`backreferences are not supported: \\${digits}`, start);
}
