// The one typed configuration and how it comes about: defaults, then the file, then the environment
// (REPRISE_*), then the flags. main.ts calls it with what the process gives; mod.ts with an object.
// Everything unknown or out of range is refused with its name and the accepted values.

import { DEFAULT_LIMITS } from "./broker/limits.ts";
import { DEFAULT_USER } from "./broker/users.ts";
import { ConfigError } from "./config/config_error.ts";
import { applyEnvironment, CONFIG_VARIABLE } from "./config/environment.ts";
import { applyFile } from "./config/file.ts";
import { readFlags } from "./config/flags.ts";
import { helpText } from "./config/help.ts";
import type { Config } from "./config/settings.ts";

export { ConfigError } from "./config/config_error.ts";
export type { Config } from "./config/settings.ts";

/** What a command line asks for. */
export type Command =
  | { readonly kind: "run"; readonly config: Config }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" };

/** Where the settings of a process come from; the last two are read only when they are needed. */
export interface ConfigSources {
  readonly args: readonly string[];
  environment(): Readonly<Record<string, string>>;
  readTextFile(path: string): string;
}

/** A configuration of defaults, free to be changed. */
export function defaultConfig(): Config {
  return {
    bind: "127.0.0.1",
    amqpPort: 5672,
    httpPort: 15672,
    logLevel: "warn",
    users: [DEFAULT_USER],
    limits: { ...DEFAULT_LIMITS },
  };
}

/** Reads every source; throws {@linkcode ConfigError} with one clear line. */
export function loadCommand(sources: ConfigSources): Command {
  const flags = readFlags(sources.args);
  if (flags.wantsHelp) return { kind: "help", text: helpText() };
  if (flags.wantsVersion) return { kind: "version" };
  const environment = readEnvironment(sources);
  const config = defaultConfig();
  const path = flags.configPath ?? environment[CONFIG_VARIABLE];
  if (path !== undefined) applyFile(config, readFile(sources, path), path);
  applyEnvironment(config, environment);
  for (const { setting, text } of flags.values) {
    if (!setting.applyText(config, text)) {
      throw ConfigError.forValue(`--${setting.name}`, text, setting.accepted);
    }
  }
  return { kind: "run", config };
}

function readEnvironment(sources: ConfigSources): Readonly<Record<string, string>> {
  try {
    return sources.environment();
  } catch (error) {
    throw new ConfigError(`cannot read the environment: ${reasonOf(error)}`);
  }
}

function readFile(sources: ConfigSources, path: string): string {
  try {
    return sources.readTextFile(path);
  } catch (error) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}
