// The one typed configuration, read from the defaults, then the file, then the environment
// (REPRISE_*), then the flags. main.ts gives it the sources of the process; mod.ts builds on its
// defaults. A setting that is unknown or out of range is refused with its name and the accepted
// values.

import { DEFAULT_LIMITS } from "./broker/limits.ts";
import { DEFAULT_USER } from "./broker/access/users.ts";
import { ConfigError } from "./config/config_error.ts";
import { applyEnvironment, CONFIG_VARIABLE } from "./config/environment.ts";
import { applyFile } from "./config/file.ts";
import { type Flags, readFlags } from "./config/flags.ts";
import { helpText } from "./config/help.ts";
import { refuseWhatDoesNotFit } from "./config/memory_split.ts";
import {
  type Config,
  DEFAULT_DATA_DIR,
  DEFAULT_DISK_FREE_BYTES_MIN,
  orderOf,
} from "./config/settings.ts";

export { ConfigError } from "./config/config_error.ts";
export type { Config } from "./config/settings.ts";

/** The command that a command line asks for. */
export type Command =
  | { readonly kind: "run"; readonly config: Config }
  | { readonly kind: "check"; readonly dataDir: string }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" };

/**
 * Where the settings of a process come from. The environment and the file are read only when needed.
 */
export interface ConfigSources {
  readonly args: readonly string[];
  environment(): Readonly<Record<string, string>>;
  readTextFile(path: string): string;
}

/** Returns a new configuration with the default values, which the caller may change. */
export function defaultConfig(): Config {
  return {
    bind: "127.0.0.1",
    amqpPort: 5672,
    httpPort: 15672,
    dataDir: DEFAULT_DATA_DIR,
    isInMemory: false,
    isSynced: true,
    diskFreeBytesMin: DEFAULT_DISK_FREE_BYTES_MIN,
    logLevel: "warn",
    users: [DEFAULT_USER],
    limits: { ...DEFAULT_LIMITS },
  };
}

/**
 * Reads all sources.
 * @throws ConfigError with one clear line
 */
export function loadCommand(sources: ConfigSources): Command {
  const isCheck = sources.args[0] === "check";
  const flags = readFlags(isCheck ? sources.args.slice(1) : sources.args);
  if (flags.wantsHelp) return { kind: "help", text: helpText() };
  if (flags.wantsVersion) return { kind: "version" };
  const config = readConfig(sources, flags);
  if (!isCheck) return { kind: "run", config };
  const other = flags.values.find(({ setting }) => setting.name !== "data-dir");
  if (other !== undefined) {
    throw ConfigError.forName("flag of check", `--${other.setting.name}`, CHECK_FLAGS);
  }
  if (config.isInMemory) {
    throw new ConfigError("check: memory is set, which leaves nothing to check, use --data-dir");
  }
  return { kind: "check", dataDir: config.dataDir };
}

const CHECK_FLAGS = ["--data-dir", "--config"];

function readConfig(sources: ConfigSources, flags: Flags): Config {
  const environment = readEnvironment(sources);
  const config = defaultConfig();
  const path = flags.configPath ?? environment[CONFIG_VARIABLE];
  if (path !== undefined) applyFile(config, readFile(sources, path), path);
  applyEnvironment(config, environment);
  // A setting that also sets the values of other settings is applied before those settings
  // themselves.
  const values = [...flags.values].sort((a, b) => orderOf(a.setting) - orderOf(b.setting));
  for (const { setting, text } of values) {
    setting.applyText(config, text, `--${setting.name}`);
  }
  // When a flag is given more than once, its last value counts.
  const isMemory = flags.values.findLast(({ setting }) => setting.name === "memory")?.text;
  const hasFolder = flags.values.some(({ setting }) => setting.name === "data-dir");
  if (isMemory === "true" && hasFolder) throw ConfigError.forBoth("--memory", "--data-dir");
  refuseWhatDoesNotFit(config.limits, "message-bytes-max");
  return config;
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
