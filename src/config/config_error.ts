// A setting that cannot be used. All code that reads settings throws it, and main.ts prints it as
// one line. It is never thrown after the node has started. It is never given the values of secret
// settings. Of a list or an object it shows only the type, because it may hold secrets.

import { slipOf } from "../lib/nearest.ts";

/** A refused setting. `message` names it and says what is accepted. */
export class ConfigError extends Error {
  /** Creates the error. `message` must be one line. */
  constructor(message: string) {
    super(message);
    this.name = "ConfigError";
  }

  /** Returns the error for a value that is not accepted. `setting` is written as in its source. */
  static forValue(setting: string, value: unknown, accepted: string): ConfigError {
    return new ConfigError(`${setting}: ${show(value)} is not accepted, use ${accepted}`);
  }

  /**
   * Returns the error for a value that is none of a few words, with the word that was probably
   * meant.
   */
  static forWord(setting: string, value: unknown, words: readonly string[]): ConfigError {
    const slip = typeof value === "string" ? slipOf(value, words) : undefined;
    const meant = slip === undefined ? "" : ` did you mean ${slip}?`;
    const accepted = words.join(", ");
    return new ConfigError(`${setting}: ${show(value)} is not accepted,${meant} use ${accepted}`);
  }

  /** Returns the error for a value that must not be shown. */
  static forSecret(setting: string, accepted: string): ConfigError {
    return new ConfigError(`${setting}: this value is not accepted, use ${accepted}`);
  }

  /** Returns the error for two settings of one source that contradict each other. */
  static forBoth(one: string, other: string): ConfigError {
    return new ConfigError(`${one} and ${other} exclude each other, use one of them`);
  }

  /**
   * Returns the error for an unknown name, with the name that was probably meant. `what` says what
   * it names.
   */
  static forName(what: string, name: string, accepted: readonly string[]): ConfigError {
    const slip = slipOf(name, accepted);
    const meant = slip === undefined ? "" : ` did you mean ${slip}?`;
    return new ConfigError(`unknown ${what} ${name},${meant} accepted: ${accepted.join(" ")}`);
  }
}

const SHOWN_MAX = 80;

/** Returns the text in quotes on one line, cut when it is long. */
export function quoted(text: string): string {
  const shown = JSON.stringify(text.slice(0, SHOWN_MAX));
  return text.length > SHOWN_MAX ? `${shown.slice(0, -1)}…"` : shown;
}

function show(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "object":
      if (value === null) return "null";
      if (Array.isArray(value)) return value.length === 0 ? "[]" : "a list";
      return "an object";
    case "function":
    case "symbol":
      return `a ${typeof value}`;
    default:
      return String(value);
  }
}
