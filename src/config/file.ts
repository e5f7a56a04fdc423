// Applies a configuration file: one JSON object with the settings by their names in camel case, and
// the limits in an object `limits`. The file has the lowest rank of the three sources. The library
// takes its options in the same form.

import { ConfigError } from "./config_error.ts";
import { readJsonText } from "./json_text.ts";
import { type Members, takeMembers } from "./members.ts";
import { type Config, keyOf, type Setting, SETTINGS } from "./settings.ts";

const TOP_SETTINGS = SETTINGS.filter((setting) => setting.group === undefined);
const LIMIT_SETTINGS = SETTINGS.filter((setting) => setting.group === "limits");

/** Applies the text of a file. `path` names it in errors. */
export function applyFile(config: Config, text: string, path: string): void {
  const content = readJsonText(text, path);
  const members = {
    ...membersOf(config, TOP_SETTINGS),
    limits: (value: unknown, where: string) => applyLimits(config, value, where),
  };
  takeMembers(content, members, { where: path, what: "setting", joint: ": " });
  const { memory, dataDir } = content as Record<string, unknown>;
  if (memory === true && dataDir !== undefined) {
    throw ConfigError.forBoth(`${path}: memory`, "dataDir");
  }
}

/** Applies an object of limits. `where` names it in errors. */
export function applyLimits(config: Config, limits: unknown, where: string): void {
  takeMembers(limits, membersOf(config, LIMIT_SETTINGS), { where, what: "limit", joint: "." });
}

function membersOf(config: Config, settings: readonly Setting[]): Members {
  return Object.fromEntries(settings.map((setting) => [
    keyOf(setting),
    (value: unknown, where: string) => setting.applyJson(config, value, where),
  ]));
}
