// A setting that cannot be used. Thrown by everything that reads settings, printed by main.ts as the
// one line it is; never thrown after the node has started.

/** A refused setting; `message` names it and says what is accepted. */
export class ConfigError extends Error {
  /** Creates the error; `message` must be one line. */
  constructor(message: string) {
    super(message);
    this.name = "ConfigError";
  }

  /** The error for a value that is not accepted, with the setting named as its source writes it. */
  static forValue(setting: string, value: unknown, accepted: string): ConfigError {
    return new ConfigError(`${setting}: ${show(value)} is not accepted, use ${accepted}`);
  }

  /** The error for two settings of one source that contradict each other. */
  static forBoth(one: string, other: string): ConfigError {
    return new ConfigError(`${one} and ${other} exclude each other, use one of them`);
  }

  /** The error for a name nobody knows. */
  static forName(what: string, name: string, accepted: readonly string[]): ConfigError {
    return new ConfigError(`unknown ${what} ${name}, accepted: ${accepted.join(" ")}`);
  }
}

const SHOWN_MAX = 80;

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
