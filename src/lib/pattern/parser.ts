// Reads a regular expression in the language of PCRE, as users of RabbitMQ write it. linear_pattern.ts
// calls it. It refuses by name what cannot be matched in a bounded number of steps, such as
// backreferences, and what PCRE refuses in PCRE's words.

import { readBracket } from "./bracket.ts";
import { caseVariants, CharacterSet, type Ranges } from "./character_set.ts";
import { Cursor } from "./cursor.ts";
import { readEscape, refuseReference } from "./escapes.ts";
import { type Flags, type Opening, readOpening } from "./group_opening.ts";
import { ANYTHING, NO_LINE_FEED, VERTICAL } from "./named_sets.ts";
import { PatternError } from "./pattern_error.ts";
import { type Anchor, fixedLength, NOTHING, type Syntax } from "./syntax.ts";

/**
 * Longest pattern, in UTF-16 units. The longest ones list names: a hundred names of 80 characters
 * fit, and compiling a pattern of this length takes a few milliseconds.
 */
const SOURCE_LENGTH_MAX = 8_192;
/** Deepest nesting of groups: what PCRE takes. The parser and the compiler call themselves so deep. */
const DEPTH_MAX = 250;
/** Highest number in a counted repetition: what PCRE takes. The size of the program bounds it too. */
const COUNT_MAX = 65_535;

const ANCHORS: ReadonlyMap<string, Anchor> = new Map([
  ["A", "text start"],
  ["G", "text start"],
  ["b", "word edge"],
  ["B", "no word edge"],
  ["z", "text end"],
  ["Z", "text end or last line break"],
]);
const SPACE = /[\t\n\v\f\r ]/;
const COUNTED = /^\{(\d+)(,(\d*))?\}$/;

/** How to read a pattern. */
export interface ParseOptions {
  /** Whether letters match in either case. */
  readonly ignoreCase: boolean;
  /** Texts that stand for `{name}` in the pattern, character by character. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Reads `source`; throws {@linkcode PatternError}. */
export function parsePattern(source: string, options: ParseOptions): Syntax {
  if (source.length > SOURCE_LENGTH_MAX) {
    const message = `the pattern is longer than ${SOURCE_LENGTH_MAX} characters`;
    throw new PatternError(message, SOURCE_LENGTH_MAX);
  }
  return new Parser(source, options).parse();
}

class Parser {
  readonly #cursor: Cursor;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #groupNames = new Set<string>();
  #flags: Flags;
  #depth = 0;
  #groupCount = 0;

  constructor(source: string, { ignoreCase, variables }: ParseOptions) {
    this.#cursor = new Cursor(source);
    this.#variables = variables;
    this.#flags = {
      ignoresCase: ignoreCase,
      isMultiline: false,
      dotTakesAll: false,
      skipsSpace: false,
      isUngreedy: false,
      repeatsNames: false,
    };
  }

  parse(): Syntax {
    const syntax = this.#choice();
    if (!this.#cursor.isAtEnd) this.#cursor.fail("unmatched parentheses");
    return syntax;
  }

  #choice(): Syntax {
    const branches = [this.#branch()];
    while (this.#cursor.takeText("|")) branches.push(this.#branch());
    return branches.length === 1 ? branches[0]! : { kind: "choice", branches };
  }

  #branch(): Syntax {
    const parts: Syntax[] = [];
    for (;;) {
      this.#skipIgnored();
      if (!this.#cursor.isQuoted && /^[|)]?$/.test(this.#cursor.peek())) break;
      if (this.#cursor.isAtEnd) break;
      parts.push(this.#part());
    }
    return parts.length === 1 ? parts[0]! : { kind: "sequence", parts };
  }

  /** Takes \Q, \E and comments; and space, where it has no meaning. */
  #skipIgnored(): void {
    const cursor = this.#cursor;
    for (;;) {
      cursor.takeQuotes();
      if (cursor.isQuoted) return;
      if (cursor.takeText("(?#")) {
        cursor.takeWhile(/[^)]/);
        if (!cursor.takeText(")")) cursor.fail("missing ) after comment");
      } else if (!this.#flags.skipsSpace) return;
      else if (cursor.peek() === "#") cursor.takeWhile(/[^\n]/);
      else if (cursor.takeWhile(SPACE) === "") return;
    }
  }

  /** Reads one part with its quantifier. */
  #part(): Syntax {
    if (this.#cursor.isQuoted) return this.#quantified(this.#quoted());
    const anchor = this.#anchor();
    // PCRE repeats no place, only what may take characters.
    if (anchor !== undefined) return anchor;
    if (this.#cursor.peek() === "(") {
      const group = this.#group();
      return group.isRepeatable ? this.#quantified(group.syntax) : group.syntax;
    }
    return this.#quantified(this.#atom());
  }

  #quoted(): Syntax {
    return this.#variable() ?? this.#single(this.#cursor.take().codePointAt(0)!);
  }

  #anchor(): Syntax | undefined {
    const cursor = this.#cursor;
    const next = cursor.peek();
    let anchor: Anchor | undefined;
    if (next === "^") anchor = this.#flags.isMultiline ? "line start" : "text start";
    else if (next === "$") {
      anchor = this.#flags.isMultiline ? "line end" : "text end or last line break";
    } else if (next === "\\") anchor = ANCHORS.get(cursor.peek(1));
    if (anchor === undefined) return undefined;
    cursor.goTo(cursor.at + (next === "\\" ? 2 : 1));
    return { kind: "anchor", anchor };
  }

  #quantified(body: Syntax): Syntax {
    this.#skipIgnored();
    const bounds = this.#cursor.isQuoted ? null : this.#bounds();
    if (bounds === null) return body;
    const [min, max] = bounds;
    const repeat = { kind: "repeat", body, min, max } as const;
    if (this.#cursor.takeText("+")) return { kind: "atomic", body: { ...repeat, isLazy: false } };
    return { ...repeat, isLazy: this.#cursor.takeText("?") !== this.#flags.isUngreedy };
  }

  #bounds(): [number, number] | null {
    const cursor = this.#cursor;
    if (cursor.takeText("*")) return [0, Infinity];
    if (cursor.takeText("+")) return [1, Infinity];
    if (cursor.takeText("?")) return [0, 1];
    const start = cursor.at;
    const text = cursor.takeWhile(/[{\d,]/) + cursor.take();
    const counted = COUNTED.exec(text);
    if (counted === null) {
      cursor.goTo(start);
      return null;
    }
    const min = Number(counted[1]);
    const max = counted[2] === undefined ? min : counted[3] === "" ? Infinity : Number(counted[3]);
    const last = cursor.at - 1;
    if (min > COUNT_MAX || (max > COUNT_MAX && max !== Infinity)) {
      cursor.fail("number too big in {} quantifier", last);
    }
    if (min > max) cursor.fail("numbers out of order in {} quantifier", last);
    return [min, max];
  }

  #atom(): Syntax {
    const cursor = this.#cursor;
    const start = cursor.at;
    if (this.#bounds() !== null) cursor.fail("nothing to repeat", cursor.at - 1);
    const variable = this.#variable();
    if (variable !== undefined) return variable;
    cursor.goTo(start);
    const character = cursor.take();
    if (character === "[") return set(readBracket(cursor, this.#flags.ignoresCase));
    if (character === ".") return ranges(this.#flags.dotTakesAll ? ANYTHING : NO_LINE_FEED);
    if (character === "\\") return this.#escape();
    return this.#single(character.codePointAt(0)!);
  }

  /** Reads `{name}`, if it is one of the variables. */
  #variable(): Syntax | undefined {
    const cursor = this.#cursor;
    if (cursor.peek() !== "{") return undefined;
    for (const [name, value] of Object.entries(this.#variables)) {
      if (!cursor.takeText(`{${name}}`)) continue;
      const parts = Array.from(value, (character) => this.#single(character.codePointAt(0)!));
      return { kind: "sequence", parts };
    }
    return undefined;
  }

  #escape(): Syntax {
    const cursor = this.#cursor;
    refuseReference(cursor, this.#groupCount);
    // Where a match begins does not matter to whether there is one.
    if (cursor.takeText("K")) return NOTHING;
    if (cursor.takeText("R")) return lineBreak();
    if (cursor.peek() === "N" && cursor.peek(1) !== "{") {
      cursor.take();
      return ranges(NO_LINE_FEED);
    }
    if (cursor.peek() === "N") {
      cursor.fail("PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u");
    }
    const member = readEscape(cursor);
    if (member.kind === "character") return this.#single(member.codePoint);
    if (member.kind === "ranges") return ranges(member.ranges);
    return set(new CharacterSet({ ranges: [], properties: [member.property] }));
  }

  #single(codePoint: number): Syntax {
    if (!this.#flags.ignoresCase) return { kind: "character", codePoint };
    return set(new CharacterSet({ ranges: caseVariants(codePoint), ignoresCase: true }));
  }

  #group(): { syntax: Syntax; isRepeatable: boolean } {
    const cursor = this.#cursor;
    const outerFlags = this.#flags;
    const opening = readOpening(cursor, this.#flags);
    this.#flags = opening.flags;
    // Options alone hold up to the end of the group around them.
    if (opening.kind === "options") return { syntax: NOTHING, isRepeatable: false };
    this.#count(opening);
    const body = this.#groupBody(opening);
    if (!cursor.takeText(")")) cursor.fail("missing )");
    this.#depth--;
    this.#flags = outerFlags;
    return { syntax: body, isRepeatable: true };
  }

  #count({ name, kind }: Opening): void {
    const cursor = this.#cursor;
    if (++this.#depth > DEPTH_MAX) cursor.fail("parentheses are too deeply nested");
    if (kind === "capture") this.#groupCount++;
    if (name === null) return;
    if (this.#groupNames.has(name) && !this.#flags.repeatsNames) {
      cursor.fail("two named subpatterns have the same name", cursor.at - 1);
    }
    this.#groupNames.add(name);
  }

  #groupBody({ kind, isNegated }: Opening): Syntax {
    if (kind === "behind") return { kind: "look", body: this.#behind(), isNegated };
    const body = this.#choice();
    if (kind === "ahead") return { kind: "look", body, isNegated };
    return kind === "atomic" ? { kind: "atomic", body } : body;
  }

  /** Reads a look-behind: each of its branches goes back by its own length. */
  #behind(): Syntax {
    const branches: Syntax[] = [];
    do {
      const branch = this.#branch();
      const count = fixedLength(branch);
      if (count === null) this.#cursor.fail("lookbehind assertion is not fixed length");
      branches.push({ kind: "sequence", parts: [{ kind: "back", count }, branch] });
    } while (this.#cursor.takeText("|"));
    return { kind: "choice", branches };
  }
}

function set(set: CharacterSet): Syntax {
  return { kind: "set", set };
}

/** The sets that patterns name by a letter are made once. */
const SHARED_SETS = new Map<Ranges, Syntax>();

function ranges(ranges: Ranges): Syntax {
  const known = SHARED_SETS.get(ranges) ?? set(new CharacterSet({ ranges }));
  SHARED_SETS.set(ranges, known);
  return known;
}

/** \R: a line break of two characters is never taken apart. */
function lineBreak(): Syntax {
  const pair: Syntax = {
    kind: "sequence",
    parts: [{ kind: "character", codePoint: 13 }, { kind: "character", codePoint: 10 }],
  };
  return { kind: "atomic", body: { kind: "choice", branches: [pair, ranges(VERTICAL)] } };
}
