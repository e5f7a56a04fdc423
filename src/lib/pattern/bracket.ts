// Reads a set of characters in brackets, such as [a-z_] or [^[:space:]]. The parser calls it. The
// rules for brackets, hyphens and backslashes in odd places are PCRE's.

import { CharacterSet, type Property } from "./character_set.ts";
import type { Cursor } from "./cursor.ts";
import { type Member, readEscape } from "./escapes.ts";
import { posixRanges } from "./named_sets.ts";

const MISSING_END = "missing terminating ] for character class";

/** Reads a set whose opening bracket is taken. */
export function readBracket(cursor: Cursor, ignoresCase: boolean): CharacterSet {
  const start = cursor.at - 1;
  cursor.goTo(start);
  if (posixName(cursor) !== null) {
    cursor.fail("POSIX named classes are supported only within a class");
  }
  cursor.take();
  return new Bracket(cursor).read(ignoresCase);
}

class Bracket {
  readonly #cursor: Cursor;
  readonly #ranges: (readonly [number, number])[] = [];
  readonly #properties: Property[] = [];

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  read(ignoresCase: boolean): CharacterSet {
    const cursor = this.#cursor;
    cursor.takeQuotes();
    const isNegated = !cursor.isQuoted && cursor.takeText("^");
    // A closing bracket in first place is a character of the set.
    do {
      this.#readMember();
      cursor.takeQuotes();
    } while (cursor.isQuoted || cursor.peek() !== "]");
    cursor.take();
    return new CharacterSet({
      ranges: this.#ranges,
      properties: this.#properties,
      isNegated,
      ignoresCase,
    });
  }

  #readMember(): void {
    const cursor = this.#cursor;
    const low = this.#member();
    cursor.takeQuotes();
    const isRange = low.kind === "character" && !cursor.isQuoted &&
      cursor.peek() === "-" &&
      cursor.peek(1) !== "]";
    if (!isRange) return this.#add(low);
    cursor.take();
    cursor.takeQuotes();
    // The hyphen was the last character after all: \E stood between it and the bracket.
    if (!cursor.isQuoted && cursor.peek() === "]") {
      this.#add(low);
      return this.#add({ kind: "character", codePoint: 45 });
    }
    const high = this.#member();
    if (high.kind !== "character") {
      return cursor.fail("invalid range in character class", cursor.at - 1);
    }
    if (high.codePoint < low.codePoint) {
      return cursor.fail("range out of order in character class", cursor.at - 1);
    }
    this.#ranges.push([low.codePoint, high.codePoint]);
  }

  #add(member: Member): void {
    if (member.kind === "character") this.#ranges.push([member.codePoint, member.codePoint]);
    else if (member.kind === "ranges") this.#ranges.push(...member.ranges);
    else this.#properties.push(member.property);
  }

  #member(): Member {
    const cursor = this.#cursor;
    cursor.takeQuotes();
    if (!cursor.isQuoted) {
      const name = posixName(cursor);
      if (name !== null) return this.#posix(name);
    }
    const character = cursor.take();
    if (character === "") return cursor.fail(MISSING_END);
    if (character !== "\\" || cursor.isQuoted) {
      return { kind: "character", codePoint: character.codePointAt(0)! };
    }
    const letter = cursor.peek();
    if (letter === "b") {
      cursor.take();
      return { kind: "character", codePoint: 8 };
    }
    if (letter === "N") return cursor.fail("\\N is not supported in a class", cursor.at + 1);
    return readEscape(cursor);
  }

  #posix(name: string): Member {
    const cursor = this.#cursor;
    const start = cursor.at;
    const isNamed = cursor.peek(1) === ":";
    if (!isNamed) return cursor.fail("POSIX collating elements are not supported", start);
    const ranges = posixRanges(name);
    if (ranges === undefined) return cursor.fail("unknown POSIX class name", start + 2);
    cursor.goTo(start + 4 + name.length);
    return { kind: "ranges", ranges };
  }
}

/** Returns what stands between `[:` and `:]`, `[.` and `.]` or `[=` and `=]`; else null. */
function posixName(cursor: Cursor): string | null {
  const mark = cursor.peek(1);
  if (cursor.peek() !== "[" || (mark !== ":" && mark !== "." && mark !== "=")) return null;
  let name = "";
  for (let i = 2; cursor.peek(i) !== ""; i++) {
    const character = cursor.peek(i);
    if (character === "\\" && /[\\\]]/.test(cursor.peek(i + 1))) i++;
    else if (character === "]" || (character === "[" && cursor.peek(i + 1) === mark)) return null;
    else if (character === mark && cursor.peek(i + 1) === "]") return name;
    name += character;
  }
  return null;
}
