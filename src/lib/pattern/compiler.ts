// Makes a program from the tree of a pattern, from its end to its beginning: what follows a part is
// compiled before the part. linear_pattern.ts calls it. Repetitions are written out, up to a limit.
//
// A repetition whose body can take nothing would be a circle that goes on without taking a
// character. As in PCRE, a round that took nothing is the last one. So everything within such a
// repetition is compiled for two situations: nothing was taken in this round yet, or something was.

import type { CharacterSet } from "./character_set.ts";
import { PatternError } from "./pattern_error.ts";
import {
  ACCEPT,
  ANCHOR,
  ATOMIC,
  BACK,
  FORK,
  LOOK,
  LOOK_NOT,
  type Program,
  TAKE,
  TAKE_SET,
} from "./program.ts";
import { ANCHORS, type Repeat, type Syntax } from "./syntax.ts";

/**
 * Most instructions of one program, and most steps at one place of a text. A pattern of the greatest
 * length fits unless it counts repetitions. With a name of 255 characters it is 2.5 million steps,
 * which take some tens of milliseconds.
 */
const PROGRAM_SIZE_MAX = 10_000;
/** Most parts that are compiled, those that need no instruction included. */
const WORK_MAX = 8 * PROGRAM_SIZE_MAX;

/** Where to go on: behind a part that took nothing, and behind one that took something. */
interface Exit {
  readonly empty: number;
  readonly taken: number;
}

/** Compiles the tree; throws {@linkcode PatternError} when the program would be too large. */
export function compile(syntax: Syntax): Program {
  return new Compiler().compile(syntax);
}

class Compiler {
  readonly #operations: number[] = [];
  readonly #operands: number[] = [];
  readonly #nexts: number[] = [];
  readonly #others: number[] = [];
  readonly #sets: CharacterSet[] = [];
  readonly #setNumbers = new Map<CharacterSet, number>();
  /** Steps at one place; one is the attempt to begin there. */
  #steps = 1;
  readonly #accept = this.#add(ACCEPT, 0, -1);
  /** Entries that are compiled already, by part and exit. */
  readonly #entries = new Map<Syntax, Map<number, number>>();
  /** The heads of repetitions that have taken something, by repetition and exit. */
  readonly #heads = new Map<Repeat, Map<number, number>>();
  readonly #nullable = new Map<Syntax, boolean>();
  #workCount = 0;

  compile(syntax: Syntax): Program {
    const start = this.#subprogram(syntax);
    const joins = this.#joins(start);
    return {
      operations: Uint8Array.from(this.#operations),
      operands: Int32Array.from(this.#operands),
      nexts: Int32Array.from(this.#nexts),
      others: Int32Array.from(this.#others),
      joins,
      joinCount: joins.reduce((count, join) => Math.max(count, join + 1), 0),
      sets: this.#sets,
      start,
      stepsPerPlaceMax: this.#steps,
    };
  }

  #add(operation: number, operand: number, next: number, other = -1): number {
    if (this.#operations.length === PROGRAM_SIZE_MAX) throw tooLarge();
    this.#operands.push(operand);
    this.#nexts.push(next);
    this.#others.push(other);
    const isTwofold = other >= 0 || operation === LOOK || operation === LOOK_NOT;
    this.#spend(operation === TAKE_SET ? this.#sets[operand]!.steps : isTwofold ? 2 : 1);
    return this.#operations.push(operation) - 1;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > 2 * PROGRAM_SIZE_MAX) throw tooLarge();
  }

  /** Compiles what is matched on its own: the whole pattern, a look-around, an atomic group. */
  #subprogram(syntax: Syntax): number {
    return this.#enter(syntax, { empty: this.#accept, taken: this.#accept });
  }

  /** Returns the entry to a part, when nothing was taken in this round yet. */
  #enter(syntax: Syntax, { empty, taken }: Exit): number {
    const exit = this.#isNullable(syntax) ? { empty, taken } : { empty: taken, taken };
    const known = entriesOf(this.#entries, syntax);
    const key = exit.empty * PROGRAM_SIZE_MAX + taken;
    const entry = known.get(key) ?? this.#compilePart(syntax, exit);
    known.set(key, entry);
    return entry;
  }

  /** Returns the entries to a part, for both situations. */
  #enterBoth(syntax: Syntax, exit: Exit): Exit {
    const taken = this.#enter(syntax, { empty: exit.taken, taken: exit.taken });
    return { empty: exit.empty === exit.taken ? taken : this.#enter(syntax, exit), taken };
  }

  #compilePart(syntax: Syntax, exit: Exit): number {
    if (++this.#workCount > WORK_MAX) throw tooLarge();
    switch (syntax.kind) {
      case "character":
        return this.#add(TAKE, syntax.codePoint, exit.taken);
      case "set":
        return this.#add(TAKE_SET, this.#setNumber(syntax.set), exit.taken);
      case "anchor":
        return this.#add(ANCHOR, ANCHORS.indexOf(syntax.anchor), exit.empty);
      case "back":
        return this.#add(BACK, syntax.count, exit.empty);
      case "look": {
        const body = this.#subprogram(syntax.body);
        return this.#add(syntax.isNegated ? LOOK_NOT : LOOK, body, exit.empty);
      }
      case "atomic":
        return this.#add(ATOMIC, this.#subprogram(syntax.body), exit.taken, exit.empty);
      case "sequence":
        return syntax.parts.reduceRight((rest, part) => this.#enterBoth(part, rest), exit).empty;
      case "choice":
        return syntax.branches
          .map((branch) => this.#enter(branch, exit))
          .reduceRight((rest, branch) => this.#fork(branch, rest));
      case "repeat":
        return this.#repeat(syntax, exit);
    }
  }

  #fork(first: number, second: number): number {
    return first === second ? first : this.#add(FORK, 0, first, second);
  }

  /** A fork at a repetition: another round, or the exit. */
  #round(body: number, exit: number, isLazy: boolean): number {
    return isLazy ? this.#fork(exit, body) : this.#fork(body, exit);
  }

  #repeat(repeat: Repeat, exit: Exit): number {
    const { body, min, max } = repeat;
    let entry = max === Infinity ? this.#unbounded(repeat, exit) : exit;
    for (let count = max === Infinity ? min : max; count > 0; count--) {
      const inner = this.#enterBoth(body, entry);
      // A body that says nothing says no more when it is repeated.
      if (inner.empty === entry.empty && inner.taken === entry.taken) break;
      entry = count > min ? this.#optional(repeat, inner, exit) : inner;
    }
    return entry.empty;
  }

  #optional({ isLazy }: Repeat, inner: Exit, exit: Exit): Exit {
    const taken = this.#round(inner.taken, exit.taken, isLazy);
    if (exit.empty === exit.taken) return { empty: taken, taken };
    return { empty: this.#round(inner.empty, exit.empty, isLazy), taken };
  }

  #unbounded(repeat: Repeat, exit: Exit): Exit {
    const taken = this.#head(repeat, exit.taken);
    if (exit.empty === exit.taken) return { empty: taken, taken };
    const body = this.#enter(repeat.body, { empty: exit.empty, taken });
    return { empty: this.#round(body, exit.empty, repeat.isLazy), taken };
  }

  /** Returns the head of a repetition that leaves to `exit`. */
  #head(repeat: Repeat, exit: number): number {
    const known = entriesOf(this.#heads, repeat);
    const found = known.get(exit);
    if (found !== undefined) return found;
    // The body leads back to the head, so the head is there first.
    const head = this.#add(FORK, 0, exit, exit);
    known.set(exit, head);
    const body = this.#enter(repeat.body, { empty: exit, taken: head });
    if (repeat.isLazy) this.#others[head] = body;
    else this.#nexts[head] = body;
    return head;
  }

  #setNumber(set: CharacterSet): number {
    const known = this.#setNumbers.get(set) ?? this.#sets.push(set) - 1;
    this.#setNumbers.set(set, known);
    return known;
  }

  #isNullable(syntax: Syntax): boolean {
    const known = this.#nullable.get(syntax) ?? this.#findNullable(syntax);
    this.#nullable.set(syntax, known);
    return known;
  }

  #findNullable(syntax: Syntax): boolean {
    switch (syntax.kind) {
      case "character":
      case "set":
        return false;
      case "sequence":
        return syntax.parts.every((part) => this.#isNullable(part));
      case "choice":
        return syntax.branches.some((branch) => this.#isNullable(branch));
      case "repeat":
        return syntax.min === 0 || this.#isNullable(syntax.body);
      case "atomic":
        return this.#isNullable(syntax.body);
      default:
        return true;
    }
  }

  #joins(start: number): Int32Array {
    const arrivals = new Int32Array(this.#operations.length);
    arrivals[start]!++;
    this.#operations.forEach((operation, i) => {
      const isCall = operation === LOOK || operation === LOOK_NOT || operation === ATOMIC;
      for (const target of [this.#nexts[i]!, this.#others[i]!, isCall ? this.#operands[i]! : -1]) {
        if (target >= 0) arrivals[target]!++;
      }
    });
    let joinCount = 0;
    return arrivals.map((count, i) =>
      count > 1 && this.#operations[i] !== ACCEPT ? joinCount++ : -1
    );
  }
}

function entriesOf<T>(table: Map<T, Map<number, number>>, key: T): Map<number, number> {
  const known = table.get(key) ?? new Map<number, number>();
  table.set(key, known);
  return known;
}

function tooLarge(): PatternError {
  const message = "regular expression is too large: its repetitions are too many when written out";
  return new PatternError(message, 0);
}
