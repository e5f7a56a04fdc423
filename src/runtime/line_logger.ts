// Log lines as JSON, one per line: time, level, message, then the fields. main.ts makes one that writes
// to standard error. A line that cannot be written is lost and causes no error.

import { isLogged, type LogFields, type Logger, type LogLevel } from "../lib/logger.ts";

/** The options of a {@linkcode LineLogger}. */
export interface LineLoggerOptions {
  /** The least severe level that is written. */
  minimum: LogLevel;
  /** Milliseconds since the epoch. */
  nowMs: () => number;
  /** Takes one line with its line break. */
  write: (line: string) => void;
}

/** Writes structured log lines. */
export class LineLogger implements Logger {
  readonly #options: LineLoggerOptions;

  /** Writes events that are at least as severe as the minimum. */
  constructor(options: LineLoggerOptions) {
    this.#options = options;
  }

  /** Logs one event. `message` is constant text; all variable data is in `fields`. */
  log(level: LogLevel, message: string, fields?: LogFields): void {
    const { minimum, nowMs, write } = this.#options;
    if (!isLogged(level, minimum)) return;
    const time = new Date(nowMs()).toISOString();
    write(`${JSON.stringify({ time, level, message, ...fields })}\n`);
  }
}
