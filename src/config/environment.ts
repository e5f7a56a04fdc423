// Applies the environment's `REPRISE_*` variables, over the file and under the flags. It ignores
// variables with other names. It refuses an unknown `REPRISE_*` variable like a wrong flag, except
// one that Kubernetes has set: for a service named `reprise`, Kubernetes puts the addresses of that
// service into the environment of every container.

import { ConfigError } from "./config_error.ts";
import { type Config, SETTINGS, variableOf } from "./settings.ts";

/** Variable with the path of a configuration file, like `--config`. */
export const CONFIG_VARIABLE = "REPRISE_CONFIG";

const PREFIX = "REPRISE_";
/** `REPRISE_SERVICE_HOST`, `REPRISE_PORT`, `REPRISE_PORT_5672_TCP` and the like. */
const SERVICE_LINK = /^REPRISE_(SERVICE_.*|PORT(_.*)?)$/;
const MEMORY_VARIABLE = "REPRISE_MEMORY";
const DATA_DIR_VARIABLE = "REPRISE_DATA_DIR";

/** Applies every `REPRISE_*` variable; throws {@linkcode ConfigError} for the first wrong one. */
export function applyEnvironment(
  config: Config,
  environment: Readonly<Record<string, string>>,
): void {
  const names = Object.keys(environment).filter((name) => name.startsWith(PREFIX));
  const unknown = names.find((name) => !isKnown(name) && !SERVICE_LINK.test(name));
  if (unknown !== undefined) {
    const accepted = [...SETTINGS.map(variableOf), CONFIG_VARIABLE];
    throw ConfigError.forName("environment variable", unknown, accepted);
  }
  // An environment has no order of its own. The order of the table is always the same.
  for (const setting of SETTINGS) {
    const name = variableOf(setting);
    const text = environment[name];
    if (text !== undefined) setting.applyText(config, text, name);
  }
  if (environment[MEMORY_VARIABLE] === "true" && environment[DATA_DIR_VARIABLE] !== undefined) {
    throw ConfigError.forBoth(`${MEMORY_VARIABLE}=true`, DATA_DIR_VARIABLE);
  }
}

function isKnown(name: string): boolean {
  return name === CONFIG_VARIABLE || SETTINGS.some((setting) => variableOf(setting) === name);
}
