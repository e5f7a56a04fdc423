// Reads how a group begins: what it is and which options hold in it. The parser calls it. Kinds of
// groups that cannot be matched in a bounded number of steps are refused here, by name.

import type { Cursor } from "./cursor.ts";

/** The options of PCRE that matter to whether a text matches. */
export interface Flags {
  /** `i` */
  readonly ignoresCase: boolean;
  /** `m` */
  readonly isMultiline: boolean;
  /** `s` */
  readonly dotTakesAll: boolean;
  /** `x` */
  readonly skipsSpace: boolean;
  /** `U` */
  readonly isUngreedy: boolean;
  /** `J` */
  readonly repeatsNames: boolean;
}

/** The beginning of a group. */
export interface Opening {
  /** `options` is no group: options for the rest of the group around it. */
  readonly kind: "capture" | "plain" | "atomic" | "ahead" | "behind" | "options";
  readonly isNegated: boolean;
  readonly name: string | null;
  readonly flags: Flags;
}

const FLAG_NAMES: ReadonlyMap<string, keyof Flags | null> = new Map([
  ["i", "ignoresCase"],
  ["m", "isMultiline"],
  ["s", "dotTakesAll"],
  ["x", "skipsSpace"],
  ["U", "isUngreedy"],
  ["J", "repeatsNames"],
  // It makes PCRE stricter about unknown escapes.
  ["X", null],
]);

/** What may follow `(?` and is refused, with its name. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^P=/, "backreferences"],
  [/^(P>|&|R|[+-]?\d)/, "calls of other groups"],
  [/^\(/, "conditional groups"],
  [/^C/, "callouts"],
];

/** Reads the beginning of a group, from its bracket on; `flags` hold before it. */
export function readOpening(cursor: Cursor, flags: Flags): Opening {
  const start = cursor.at;
  const plain: Opening = { kind: "plain", isNegated: false, name: null, flags };
  cursor.takeText("(");
  if (cursor.peek() === "*") refuseVerb(cursor, start);
  if (!cursor.takeText("?")) return { ...plain, kind: "capture" };
  if (cursor.takeText(":") || cursor.takeText("|")) return plain;
  if (cursor.takeText(">")) return { ...plain, kind: "atomic" };
  for (const [text, kind] of [["=", "ahead"], ["<=", "behind"]] as const) {
    if (cursor.takeText(text)) return { ...plain, kind };
    if (cursor.takeText(text.replace("=", "!"))) return { ...plain, kind, isNegated: true };
  }
  refuseKind(cursor, start);
  const name = readName(cursor);
  if (name !== null) return { ...plain, kind: "capture", name };
  return readOptions(cursor, plain);
}

function refuseVerb(cursor: Cursor, start: number): void {
  if (/[A-Z:]/.test(cursor.peek(1))) cursor.fail("verbs are not supported: (*", start);
  if (/[a-z]/.test(cursor.peek(1))) {
    cursor.fail("(*VERB) not recognized or malformed", cursor.at + 2);
  }
}

function refuseKind(cursor: Cursor, start: number): void {
  const next = cursor.peek() + cursor.peek(1);
  for (const [expression, name] of REFUSED) {
    const found = expression.exec(next);
    if (found !== null) cursor.fail(`${name} are not supported: (?${found[0]}`, start);
  }
}

function readName(cursor: Cursor): string | null {
  const isPython = cursor.takeText("P");
  if (isPython && cursor.peek() !== "<") cursor.fail("unrecognized character after (?P");
  const end = cursor.peek() === "<" ? ">" : cursor.peek() === "'" ? "'" : "";
  if (end === "") return null;
  cursor.take();
  if (/\d/.test(cursor.peek())) cursor.fail("group name must start with a non-digit");
  if (!isPython && end === ">" && !/\w/.test(cursor.peek())) {
    cursor.fail("unrecognized character after (?<");
  }
  const name = cursor.takeWhile(/\w/);
  if (!cursor.takeText(end)) {
    cursor.fail("syntax error in subpattern name (missing terminator)");
  }
  return name;
}

function readOptions(cursor: Cursor, opening: Opening): Opening {
  const flags: { -readonly [K in keyof Flags]: boolean } = { ...opening.flags };
  let value = true;
  for (;;) {
    if (cursor.takeText(")")) return { ...opening, flags, kind: "options" };
    if (cursor.takeText(":")) return { ...opening, flags };
    if (value && cursor.takeText("-")) {
      value = false;
      continue;
    }
    const flag = FLAG_NAMES.get(cursor.peek());
    if (flag === undefined) cursor.fail("unrecognized character after (? or (?-");
    cursor.take();
    if (flag !== null) flags[flag] = value;
  }
}
