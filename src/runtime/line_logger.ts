// Log lines as JSON, one per line: time, level, message, then the fields. main.ts makes one that writes
// to standard error; a line that cannot be written is lost, never an error.

import { isLogged, type LogFields, type Logger, type LogLevel } from "../lib/logger.ts";

/** What a {@linkcode LineLogger} is made from. */
export interface LineLoggerOptions {
  /** Least severe level that is written. */
  minimum: LogLevel;
  /** Milliseconds since the epoch. */
  nowMs: () => number;
  /** Takes one line with its line break. */
  write: (line: string) => void;
}

/** Writes structured log lines. */
export class LineLogger implements Logger {
  readonly #options: LineLoggerOptions;

  /** Writes what is at least as severe as the minimum. */
  constructor(options: LineLoggerOptions) {
    this.#options = options;
  }

  /** Reports one event; `message` is constant text, everything variable is in `fields`. */
  log(level: LogLevel, message: string, fields?: LogFields): void {
    const { minimum, nowMs, write } = this.#options;
    if (!isLogged(level, minimum)) return;
    const time = new Date(nowMs()).toISOString();
    write(`${JSON.stringify({ time, level, message, ...fields })}\n`);
  }
}
