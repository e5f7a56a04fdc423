// Applies the environment's `REPRISE_*` variables, over the file and under the flags. Variables with
// other names are nobody's business; one of ours that does not exist is refused like a wrong flag.

import { ConfigError } from "./config_error.ts";
import { type Config, SETTINGS, variableOf } from "./settings.ts";

/** Names a configuration file, like `--config`. */
export const CONFIG_VARIABLE = "REPRISE_CONFIG";

const PREFIX = "REPRISE_";

/** Applies every variable of ours; throws {@linkcode ConfigError} for the first wrong one. */
export function applyEnvironment(
  config: Config,
  environment: Readonly<Record<string, string>>,
): void {
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(PREFIX) || name === CONFIG_VARIABLE) continue;
    const setting = SETTINGS.find((candidate) => variableOf(candidate) === name);
    if (setting === undefined) {
      const accepted = [...SETTINGS.map(variableOf), CONFIG_VARIABLE];
      throw ConfigError.forName("environment variable", name, accepted);
    }
    if (!setting.applyText(config, text)) {
      throw ConfigError.forValue(name, text, setting.accepted);
    }
  }
}
