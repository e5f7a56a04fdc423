// The text of `--help`, made from the table of settings so that it cannot forget one. config.ts
// asks for it. It never prints and never exits.

import { CONFIG_VARIABLE } from "./environment.ts";
import { type Setting, SETTINGS, variableOf } from "./settings.ts";

const COLUMN = 32;

/** The whole help text, ending with a line break. */
export function helpText(): string {
  const main = SETTINGS.filter((setting) => setting.group === undefined && setting.hasFlag);
  const limits = SETTINGS.filter((setting) => setting.group === "limits");
  return [
    "reprise: an AMQP 0-9-1 broker with automatic retries",
    "",
    "  reprise [options]                runs the broker",
    "  reprise check [--data-dir DIR]   says what a data folder holds and whether it is whole; changes",
    "                                   nothing, exit code 1 for damage",
    "",
    "Options (defaults in parentheses):",
    ...main.map(settingLine),
    line("--config FILE", "JSON file with the settings below flags and environment"),
    line("--version", "print the version"),
    line("--help", "print this"),
    "",
    "Limits:",
    ...limits.map(settingLine),
    "",
    `Each option is an environment variable as well: --amqp-port is ${exampleVariable()}, and`,
    `${CONFIG_VARIABLE} names the file. Flags win over the environment, the environment over the file.`,
    'The file is a JSON object: {"amqpPort": 5672, "limits": {"channelMax": 100}, "users": [...]}.',
    "Users are set in the file or in REPRISE_USERS, a JSON array:",
    '[{"name": "app", "password": "secret", "tags": ["administrator"], "loopbackOnly": false}].',
    "",
  ].join("\n");
}

function settingLine(setting: Setting): string {
  return line(`--${setting.name}${setting.isSwitch ? "" : " VALUE"}`, setting.help);
}

function line(left: string, right: string): string {
  return `  ${left.padEnd(COLUMN)} ${right}`;
}

function exampleVariable(): string {
  return variableOf(SETTINGS.find((setting) => setting.name === "amqp-port")!);
}
