// What the disk refuses again and again while it is tried a few times a second: one line says that it
// has begun, one a minute that it lasts, and one that it is over. FileStore makes the list; the parts
// that try again enter what failed and what worked. Keeper calls `step` every turn.

import type { Logger } from "../../lib/logger.ts";
import type { DiskError } from "../file_system.ts";

/** How long after a line about a trouble the next one follows while the trouble lasts, ms. */
const REMINDER_MS = 60_000;
/** A trouble is over when nothing has failed for this long, ms. */
const CALM_MS = 5_000;

/** Each trouble, with the line that says that it is over. */
const OVER = {
  log: "the commit log takes writes again",
  room: "the disk can be asked for its room again",
  reserve: "there is room for the reserve again",
  pages: "pages can be written again",
  spill: "messages can be written to make room again",
} as const;

/** The name of a trouble. */
export type TroubleName = keyof typeof OVER;

interface Trouble {
  what: string;
  error: string;
  failures: number;
  failedMs: number;
  /** When a line was last written about it. */
  toldMs: number;
  /** Whether it has worked since it failed last. */
  hasWorked: boolean;
}

/** The troubles that a store has with its disk. */
export class Troubles {
  readonly #logger: Logger;
  readonly #going = new Map<TroubleName, Trouble>();
  #nowMs = -Infinity;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Is told that something has failed; `what` completes "cannot". */
  failed(name: TroubleName, what: string, error: DiskError): void {
    const nowMs = this.#nowMs;
    const going = this.#going.get(name);
    const { message } = error;
    if (going !== undefined) {
      Object.assign(going, { what, error: message, failedMs: nowMs, hasWorked: false });
      going.failures++;
      return;
    }
    const times = { failedMs: nowMs, toldMs: nowMs };
    this.#going.set(name, { what, error: message, failures: 1, hasWorked: false, ...times });
    this.#logger.log("error", `cannot ${what}`, { error: message });
  }

  /** Is told that it works. */
  worked(name: TroubleName): void {
    if (this.#going.size === 0) return;
    const going = this.#going.get(name);
    if (going !== undefined) going.hasWorked = true;
  }

  /** Says what is over, and what still lasts. To be called once a turn. */
  step(nowMs: number): void {
    this.#nowMs = nowMs;
    if (this.#going.size === 0) return;
    for (const [name, trouble] of this.#going) {
      // It failed before the first turn, when nobody knew the time.
      if (trouble.toldMs === -Infinity) trouble.toldMs = trouble.failedMs = nowMs;
      if (trouble.hasWorked && nowMs - trouble.failedMs >= CALM_MS) this.#end(name, trouble);
      else if (nowMs - trouble.toldMs >= REMINDER_MS) this.#remind(trouble);
    }
  }

  #end(name: TroubleName, { failures }: Trouble): void {
    this.#going.delete(name);
    this.#logger.log("info", OVER[name], { failures });
  }

  #remind(trouble: Trouble): void {
    const { what, error, failures } = trouble;
    trouble.toldMs = this.#nowMs;
    this.#logger.log("error", `still cannot ${what}`, { error, failures });
  }
}
