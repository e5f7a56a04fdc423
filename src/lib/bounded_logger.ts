// Keeps the log small whatever clients do. Of each kind of line it writes a bounded number in a
// time and counts the rest; it cuts long values. A kind is a message, which is constant text.
// server.ts puts it in front of the logger of a node, so that the lines of every layer are bounded
// and no layer has to care.

import type { LogFields, Logger, LogLevel } from "./logger.ts";

/** Lines of one kind that may be written at once. */
export const LINES_AT_ONCE = 100;
/** After this time one more line of that kind may be written. */
const LINE_INTERVAL_MS = 1_000;
/** Longest text of a field, in UTF-16 units: more than any useful stack trace. */
const FIELD_TEXT_MAX = 4_096;

interface Kind {
  level: LogLevel;
  /** Lines that may still be written now. */
  left: number;
  /** When a line was last added to `left`, ms. */
  filledMs: number;
  /** Lines left out since a line was last written. */
  omittedCount: number;
}

/** A logger that writes a bounded number of lines. */
export class BoundedLogger implements Logger {
  readonly #logger: Logger;
  readonly #nowMs: () => number;
  readonly #kinds = new Map<string, Kind>();

  /** Writes to `logger`; `nowMs` never goes back. */
  constructor(logger: Logger, nowMs: () => number) {
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  /** Writes a line, or counts it. */
  log(level: LogLevel, message: string, fields?: LogFields): void {
    const nowMs = this.#nowMs();
    let kind = this.#kinds.get(message);
    if (kind === undefined) {
      kind = { level, left: LINES_AT_ONCE, filledMs: nowMs, omittedCount: 0 };
      this.#kinds.set(message, kind);
    }
    refill(kind, nowMs);
    if (kind.left === 0) {
      kind.omittedCount++;
      return;
    }
    kind.left--;
    this.#reportOmitted(message, kind);
    this.#logger.log(level, message, fields === undefined ? undefined : cut(fields));
  }

  /**
   * Writes how many lines were left out, of each kind that may write again. To be called now and
   * then, and at the end.
   */
  flush(isEnd = false): void {
    const nowMs = this.#nowMs();
    for (const [message, kind] of this.#kinds) {
      refill(kind, nowMs);
      if (kind.omittedCount > 0 && (kind.left > 0 || isEnd)) {
        kind.left = Math.max(0, kind.left - 1);
        this.#reportOmitted(message, kind);
      }
    }
  }

  #reportOmitted(message: string, kind: Kind): void {
    if (kind.omittedCount === 0) return;
    this.#logger.log(kind.level, "lines like one above were left out", {
      like: message,
      count: kind.omittedCount,
    });
    kind.omittedCount = 0;
  }
}

function refill(kind: Kind, nowMs: number): void {
  const added = Math.floor((nowMs - kind.filledMs) / LINE_INTERVAL_MS);
  if (added <= 0) return;
  kind.left = Math.min(LINES_AT_ONCE, kind.left + added);
  kind.filledMs += added * LINE_INTERVAL_MS;
}

function cut(fields: LogFields): LogFields {
  const values = Object.entries(fields);
  const isLong = (value: unknown) => typeof value === "string" && value.length > FIELD_TEXT_MAX;
  if (!values.some(([, value]) => isLong(value))) return fields;
  return Object.fromEntries(
    values.map(([name, value]) => [
      name,
      isLong(value) ? `${String(value).slice(0, FIELD_TEXT_MAX)}…` : value,
    ]),
  );
}
