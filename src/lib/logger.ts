// The Logger port. Every layer reports through it; the runtime decides where lines go and how they
// look. Logging never throws and never waits. Nothing here writes anything.

/** Severity, from the most to the least talkative. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The fields of a log line besides its message: flat values. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** The port to which the layers report. */
export interface Logger {
  /** Reports one event. `message` is constant text; everything variable is in `fields`. */
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Every level, from the most to the least talkative; the accepted values of `--log-level`. */
export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Whether a line of `level` passes a threshold of `minimum`. */
export function isLogged(level: LogLevel, minimum: LogLevel): boolean {
  return SEVERITY[level] >= SEVERITY[minimum];
}

/** A logger that drops everything: the default in tests and when embedded. */
export const SILENT_LOGGER: Logger = { log() {} };
