// Reads a command line. It is called before all other sources, because the command line may ask for
// help or name the file. It knows flags by the table of settings and never applies one.

import { ConfigError } from "./config_error.ts";
import { keyOf, type Setting, SETTINGS, variableOf } from "./settings.ts";

/** A command line, taken apart. */
export interface Flags {
  readonly wantsHelp: boolean;
  readonly wantsVersion: boolean;
  /** Path given with `--config`. */
  readonly configPath: string | null;
  /** The flags in the order given. The last one of a setting wins. */
  readonly values: readonly FlagValue[];
}

/** A flag of a setting with its unchecked value. */
interface FlagValue {
  readonly setting: Setting;
  readonly text: string;
}

const FLAG_SETTINGS = SETTINGS.filter((setting) => setting.hasFlag);

/** Every flag, as it is typed. */
const FLAG_NAMES: readonly string[] = [
  ...FLAG_SETTINGS.map((setting) => `--${setting.name}`),
  "--config",
  "--help",
  "--version",
];

/** Takes a command line apart; throws {@linkcode ConfigError} for an unknown flag. */
export function readFlags(args: readonly string[]): Flags {
  const words = args.flatMap(splitAtEquals);
  const values: FlagValue[] = [];
  let configPath: string | null = null;
  for (let at = 0; at < words.length; at++) {
    const flag = words[at]!;
    if (flag.text === "--help" || flag.text === "-h" || flag.text === "--version") continue;
    const setting = settingOf(flag.text);
    const isBare = !flag.hasValue;
    if (setting?.isSwitch && isBare) {
      values.push({ setting, text: "true" });
      continue;
    }
    const value = words[++at];
    if (value === undefined || (isBare && value.text.startsWith("--"))) {
      throw new ConfigError(`${flag.text}: a value is missing, use ${acceptedOf(setting)}`);
    }
    if (setting === null) configPath = value.text;
    else values.push({ setting, text: value.text });
  }
  const has = (name: string) => words.some((word) => word.text === name);
  return {
    wantsHelp: has("--help") || has("-h"),
    wantsVersion: has("--version"),
    configPath,
    values,
  };
}

interface Word {
  readonly text: string;
  /** Whether the next word was joined to this one by an equals sign. */
  readonly hasValue: boolean;
}

function splitAtEquals(arg: string): Word[] {
  const at = arg.startsWith("--") ? arg.indexOf("=") : -1;
  if (at < 0) return [{ text: arg, hasValue: false }];
  return [
    { text: arg.slice(0, at), hasValue: true },
    { text: arg.slice(at + 1), hasValue: false },
  ];
}

/** The setting of a flag, null for `--config`. */
function settingOf(flag: string): Setting | null {
  if (flag === "--config") return null;
  const setting = FLAG_SETTINGS.find((candidate) => `--${candidate.name}` === flag);
  if (setting !== undefined) return setting;
  if (flag.startsWith("-")) throw unknownFlag(flag);
  // A word that is no flag may be a secret. It is shown only if it looks like a command.
  const shown = /^[a-z][a-z-]{0,19}$/i.test(flag) ? flag : "(not shown)";
  throw ConfigError.forName("argument", shown, ["check", ...FLAG_NAMES]);
}

function unknownFlag(flag: string): ConfigError {
  const setting = SETTINGS.find((candidate) => `--${candidate.name}` === flag);
  if (setting === undefined) return ConfigError.forName("flag", flag, FLAG_NAMES);
  // This setting has no flag, because other people can read command lines.
  const key = keyOf(setting);
  return new ConfigError(`${flag} is no flag, use ${variableOf(setting)} or "${key}" in the file`);
}

function acceptedOf(setting: Setting | null): string {
  return setting === null ? "the path of a JSON file" : setting.accepted;
}
