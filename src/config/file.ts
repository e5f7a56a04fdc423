// Applies a configuration file: one JSON object with the settings by their names in camel case, the
// limits in an object `limits`. The lowest of the three sources, and the form the library door takes.

import { ConfigError } from "./config_error.ts";
import { type Config, keyOf, type Setting, SETTINGS } from "./settings.ts";

const TOP_SETTINGS = SETTINGS.filter((setting) => setting.group === undefined);
const LIMIT_SETTINGS = SETTINGS.filter((setting) => setting.group === "limits");

/** Applies the text of a file; `path` names it in errors. */
export function applyFile(config: Config, text: string, path: string): void {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${path}: not JSON: ${reason.split("\n", 1)[0]}`);
  }
  const { limits, ...top } = objectOf(content, path);
  applyObject(config, top, { settings: TOP_SETTINGS, where: path, others: ["limits"] });
  if (limits !== undefined) applyLimits(config, limits, `${path}: limits`);
  if (top["memory"] === true && top["dataDir"] !== undefined) {
    throw ConfigError.forBoth(`${path}: memory`, "dataDir");
  }
}

/** Applies an object of limits; `where` names it in errors. */
export function applyLimits(config: Config, limits: unknown, where: string): void {
  const settings = LIMIT_SETTINGS;
  applyObject(config, objectOf(limits, where), { settings, where, others: [] });
}

interface ObjectOptions {
  settings: readonly Setting[];
  where: string;
  /** Further names that are accepted and applied elsewhere. */
  others: readonly string[];
}

function applyObject(
  config: Config,
  content: Readonly<Record<string, unknown>>,
  options: ObjectOptions,
): void {
  const { settings, where } = options;
  for (const [key, value] of Object.entries(content)) {
    if (value === undefined) continue;
    const setting = settings.find((candidate) => keyOf(candidate) === key);
    if (setting === undefined) {
      const accepted = [...settings.map(keyOf), ...options.others];
      throw ConfigError.forName(`setting in ${where}:`, JSON.stringify(key), accepted);
    }
    if (!setting.applyJson(config, value)) {
      throw ConfigError.forValue(`${where}: ${key}`, value, setting.accepted);
    }
  }
}

function objectOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw ConfigError.forValue(where, value, "a JSON object");
}
