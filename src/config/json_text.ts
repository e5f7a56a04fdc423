// Reads JSON that a person has written, for the file and the list of users. Unlike the runtime's
// own reader, it never repeats a piece of the text in an error, because the text may hold
// passwords. It gives line and column on every runtime, and refuses a name that stands twice in one
// object.

import { ConfigError, quoted } from "./config_error.ts";

const DEPTH_MAX = 32;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// JSON wants control characters escaped.
// deno-lint-ignore no-control-regex
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SPACE = /[ \t\r\n]*/y;
const WORDS: readonly (readonly [string, boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** Returns the value of `text`. `where` names the text in errors. */
export function readJsonText(text: string, where: string): unknown {
  return new JsonText(text.replace(/^\ufeff/, ""), where).read();
}

class JsonText {
  readonly #text: string;
  readonly #where: string;
  #at = 0;

  constructor(text: string, where: string) {
    this.#text = text;
    this.#where = where;
  }

  read(): unknown {
    const value = this.#value(0);
    this.#match(SPACE);
    if (this.#at < this.#text.length) throw this.#error("the end of the text");
    return value;
  }

  #value(depth: number): unknown {
    this.#match(SPACE);
    const next = this.#text[this.#at];
    if ((next === "{" || next === "[") && depth === DEPTH_MAX) {
      throw this.#error(`at most ${DEPTH_MAX} lists and objects inside one another`);
    }
    if (next === "{") return this.#object(depth + 1);
    if (next === "[") return this.#list(depth + 1);
    if (next === '"') return this.#string("text that ends with a double quote on its line");
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    const number = this.#match(NUMBER);
    if (number === "") throw this.#error("a value");
    return Number(number);
  }

  #object(depth: number): unknown {
    const members = new Map<string, unknown>();
    this.#at++;
    while (!this.#takes("}")) {
      if (members.size > 0 && !this.#takes(",")) throw this.#error("a comma or }");
      this.#match(SPACE);
      const start = this.#at;
      const name = this.#string("a name in double quotes");
      if (members.has(name)) {
        this.#at = start;
        throw this.#error(`each name once, ${quoted(name)} stands there twice`);
      }
      if (!this.#takes(":")) throw this.#error("a colon");
      members.set(name, this.#value(depth));
    }
    return Object.fromEntries(members);
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    while (!this.#takes("]")) {
      if (items.length > 0 && !this.#takes(",")) throw this.#error("a comma or ]");
      items.push(this.#value(depth));
    }
    return items;
  }

  #string(expected: string): string {
    const literal = this.#match(STRING);
    if (literal === "") throw this.#error(expected);
    return JSON.parse(literal) as string;
  }

  #takes(mark: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  // Returns what a sticky pattern finds here, and moves behind it.
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #error(expected: string): ConfigError {
    const lines = this.#text.slice(0, this.#at).split("\n");
    const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
    return new ConfigError(`${this.#where}: not JSON at ${place}: expected ${expected}`);
  }
}
