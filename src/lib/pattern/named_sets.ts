// The sets of characters that patterns name: by a letter after a backslash, by a POSIX name within
// brackets, by a property of Unicode. Letters and POSIX names know ASCII only, as PCRE's do unless
// it is told otherwise. The parser uses them.

import { CharacterSet, complement, type Property, type Ranges } from "./character_set.ts";

const DIGIT: Ranges = [[48, 57]];
const UPPER: Ranges = [[65, 90]];
const LOWER: Ranges = [[97, 122]];
const ALPHA: Ranges = [...UPPER, ...LOWER];
const WORD: Ranges = [...DIGIT, ...ALPHA, [95, 95]];
const WORD_SET = new CharacterSet({ ranges: WORD });
const SPACE: Ranges = [[9, 13], [32, 32]];
/** Line breaks of every kind. */
export const VERTICAL: Ranges = [[10, 13], [0x85, 0x85], [0x2028, 0x2029]];
const HORIZONTAL: Ranges = [
  [9, 9],
  [32, 32],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x180e, 0x180e],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
];
/** Everything but a line feed. */
export const NO_LINE_FEED: Ranges = complement([[10, 10]]);
/** Every character. */
export const ANYTHING: Ranges = complement([]);

const BY_LETTER: ReadonlyMap<string, Ranges> = new Map([
  ["d", DIGIT],
  ["w", WORD],
  ["s", SPACE],
  ["h", HORIZONTAL],
  ["v", VERTICAL],
].flatMap(([letter, ranges]) => [
  [letter as string, ranges as Ranges],
  [(letter as string).toUpperCase(), complement(ranges as Ranges)],
]));

const POSIX: ReadonlyMap<string, Ranges> = new Map([
  ["alnum", [...DIGIT, ...ALPHA]],
  ["alpha", ALPHA],
  ["ascii", [[0, 127]]],
  ["blank", [[9, 9], [32, 32]]],
  ["cntrl", [[0, 31], [127, 127]]],
  ["digit", DIGIT],
  ["graph", [[33, 126]]],
  ["lower", LOWER],
  ["print", [[32, 126]]],
  ["punct", [[33, 47], [58, 64], [91, 96], [123, 126]]],
  ["space", SPACE],
  ["upper", UPPER],
  ["word", WORD],
  ["xdigit", [...DIGIT, [65, 70], [97, 102]]],
]);

/** Returns the set of `\d`, `\w`, `\s`, `\h`, `\v` and their opposites; undefined for others. */
export function letterRanges(letter: string): Ranges | undefined {
  return BY_LETTER.get(letter);
}

/** Returns the set of a POSIX class such as `alpha` or `^alpha`; undefined for an unknown name. */
export function posixRanges(name: string): Ranges | undefined {
  if (!name.startsWith("^")) return POSIX.get(name);
  const ranges = POSIX.get(name.slice(1));
  return ranges && complement(ranges);
}

/** General categories as PCRE names them; `L&` are the letters that have cases. */
const CATEGORY = /^(C[cfnos]?|L[lmotu&]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;
const SCRIPT = /^[A-Z][A-Za-z_]{1,39}$/;

/** Returns a property by PCRE's name of a category or script; undefined for an unknown name. */
export function namedProperty(name: string, isNegated: boolean): Property | undefined {
  if (name === "Any") return { expression: /^/, isNegated };
  const source = CATEGORY.test(name)
    ? `\\p{gc=${name.replace("L&", "LC")}}`
    : SCRIPT.test(name)
    ? `\\p{Script=${name}}`
    : null;
  if (source === null) return undefined;
  try {
    return { expression: new RegExp(`^${source}$`, "u"), isNegated };
  } catch {
    return undefined;
  }
}

/** Whether a character belongs to words, for `\b`. */
export function isWordCharacter(codePoint: number): boolean {
  return WORD_SET.holds(codePoint);
}
