// A place in the text of a pattern, and the ways to go on from there. The parser and its parts read
// through one cursor. Of the characters with a meaning it knows only the quotes \Q and \E.

import { PatternError } from "./pattern_error.ts";

/** A place in a pattern. */
export class Cursor {
  readonly #characters: readonly string[];
  #at = 0;
  #isQuoted = false;

  /** Starts at the beginning of `source`. */
  constructor(source: string) {
    this.#characters = [...source];
  }

  /** The number of characters before this place. */
  get at(): number {
    return this.#at;
  }

  /** Whether the characters here stand between \Q and \E, where none has a meaning. */
  get isQuoted(): boolean {
    return this.#isQuoted;
  }

  /** Takes \Q and \E, which may stand anywhere. */
  takeQuotes(): void {
    for (;;) {
      if (this.takeText("\\E")) this.#isQuoted = false;
      else if (!this.#isQuoted && this.takeText("\\Q")) this.#isQuoted = true;
      else return;
    }
  }

  /** Whether nothing is left. */
  get isAtEnd(): boolean {
    return this.#at === this.#characters.length;
  }

  /** Returns a character ahead without taking it; empty behind the end. */
  peek(ahead = 0): string {
    return this.#characters[this.#at + ahead] ?? "";
  }

  /** Takes one character; empty at the end. */
  take(): string {
    const character = this.peek();
    if (character !== "") this.#at++;
    return character;
  }

  /** Takes `text` if it comes next. */
  takeText(text: string): boolean {
    for (let i = 0; i < text.length; i++) {
      if (this.peek(i) !== text[i]) return false;
    }
    this.#at += text.length;
    return true;
  }

  /** Takes the characters that `expression` matches, one by one, at most `max` of them. */
  takeWhile(expression: RegExp, max = Infinity): string {
    let taken = "";
    while (taken.length < max && !this.isAtEnd && expression.test(this.peek())) {
      taken += this.take();
    }
    return taken;
  }

  /** Returns to an earlier place. */
  goTo(at: number): void {
    this.#at = at;
  }

  /** Refuses the pattern at this place, or at another one. */
  fail(message: string, position = this.#at): never {
    throw new PatternError(message, position);
  }
}
