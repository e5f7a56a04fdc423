// Random regular expressions and texts for the tests of the pattern engine: those that JavaScript
// and PCRE understand alike, those of PCRE's whole language, and heaps of characters that are hardly
// ever a pattern.

import type { Prng } from "../../src/lib/prng.ts";

/** Which language a random pattern is in. */
export type Dialect = "common" | "pcre";

const CLASSES = [
  "[ab]",
  "[^b]",
  "[a-c]",
  "[^a-c]",
  "\\w",
  "\\d",
  "\\W",
  "\\D",
  "[\\d_b]",
  "[a\\-]",
];
const PCRE_CLASSES = [
  ..."\\h|\\v|\\H|\\V|\\N|\\R|\\s|\\x61|\\x{3bb}|\\Qa.\\E|\\141|\\p{L}|\\P{Lu}|\\p{^N}".split("|"),
  ..."[[:alpha:]]|[[:^digit:]b]|[\\Qa-c\\E]|[]a]|[^]b]|[a-]|[\\w-z]|[\\p{Lu}b]|[^\\D_]".split("|"),
];
const ANCHORS = ["^", "$", "\\b", "\\B"];
const PCRE_ANCHORS = ["\\A", "\\z", "\\Z", "\\G", "\\K", "(?#x)", "(?i)", "(?s)", "(?m)", "(?x) "];
const COUNTS = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"];
const ALPHABETS = { common: "aaabbc1_-A", pcre: "aaabbc1_-AB \n\r.\tλ" };

/** Makes random patterns and texts from a seed. */
export class RandomPatterns {
  readonly #random: Prng;
  readonly #dialect: Dialect;

  /** Creates it. */
  constructor(random: Prng, dialect: Dialect) {
    this.#random = random;
    this.#dialect = dialect;
  }

  /** Returns a pattern with parts nested up to `depth`. */
  pattern(depth = 4): string {
    const start = this.#random.nextBelow(3) === 0 ? "^" : "";
    return `${start}${this.#choice(depth)}${this.#random.nextBelow(3) === 0 ? "$" : ""}`;
  }

  /** Returns a text of at most `most` characters. */
  text(most = 8): string {
    let text = "";
    for (let count = this.#random.nextBelow(most + 1); count > 0; count--) {
      text += this.#pick([...ALPHABETS[this.#dialect]]);
    }
    return text;
  }

  /** Returns characters that have a meaning in patterns, in any order. */
  heap(): string {
    const parts = String
      .raw`( ) [ ] { } ? * + ^ $ | \ \ < > = ! : - , 0 1 2 9 a b i x P R Q E A z d w p
      (?: (?= (?! (?<= (?<! (?> (?< (?P< [: :] [^ {1, {2} \Q \E \x{ \p{ L} (?i (?# .`.split(/\s+/);
    let text = "";
    for (let count = 1 + this.#random.nextBelow(9); count > 0; count--) text += this.#pick(parts);
    return text;
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#random.nextBelow(choices.length)]!;
  }

  #choice(depth: number): string {
    const branchCount = this.#pick([1, 1, 1, 2, 3]);
    return Array.from({ length: branchCount }, () => this.#branch(depth)).join("|");
  }

  #branch(depth: number): string {
    const partCount = this.#pick([0, 1, 1, 2, 2, 3]);
    return Array.from({ length: partCount }, () => this.#part(depth)).join("");
  }

  #part(depth: number): string {
    const isPcre = this.#dialect === "pcre";
    switch (this.#random.nextBelow(depth > 0 ? 12 : 5)) {
      case 0:
        return this.#pick(isPcre && this.#random.nextBelow(2) === 0 ? PCRE_CLASSES : CLASSES);
      case 1:
        return this.#pick(isPcre ? [...ANCHORS, ...PCRE_ANCHORS] : ANCHORS);
      case 5:
        return this.#look(depth - 1);
      case 6:
      case 7:
      case 8:
        return this.#repeat(depth - 1);
      case 9:
        return this.#group(depth - 1);
      case 10:
        return isPcre ? `(?>${this.#choice(depth - 1)})` : ".";
      default:
        return this.#pick(["a", "a", "b", "c", "."]);
    }
  }

  #group(depth: number): string {
    const opening = this.#dialect === "pcre"
      ? this.#pick(["(", "(?:", "(?i:", "(?-i:", "(?s:", "(?|"])
      : this.#pick(["(", "(?:"]);
    return `${opening}${this.#choice(depth)})`;
  }

  #repeat(depth: number): string {
    const isPlain = this.#random.nextBelow(2) === 0;
    const body = isPlain ? this.#pick(["a", "b", ".", "[ab]"]) : this.#group(depth);
    const suffix = this.#pick(this.#dialect === "pcre" ? ["", "", "?", "+"] : ["", "", "?"]);
    return `${body}${this.#pick(COUNTS)}${suffix}`;
  }

  #look(depth: number): string {
    if (this.#random.nextBelow(2) === 0) {
      return `${this.#pick(["(?=", "(?!"])}${this.#choice(depth)})`;
    }
    const behind = this.#pick([
      "a",
      "b",
      "ab",
      "[ab]",
      ".",
      "a|bc",
      "^",
      "^|b",
      "(?=a)a",
      "a{2}",
      "\\b",
    ]);
    return `${this.#pick(["(?<=", "(?<!"])}${behind})`;
  }
}
