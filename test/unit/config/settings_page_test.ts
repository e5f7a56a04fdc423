// docs/configuration.md says what the table of settings says, row by row.
import { assert, assertEquals } from "@std/assert";
import { readFileSync } from "node:fs";
import { keyOf, type Setting, SETTINGS, variableOf } from "../../../src/config/settings.ts";

const PAGE = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");

// Without the padding that the formatter gives to tables.
const ROWS = PAGE.split("\n")
  .filter((line) => line.startsWith("| `--") || line.startsWith("| none"))
  .map((line) => line.replaceAll(/ +/g, " "));

function row(setting: Setting): string {
  const key = setting.group === undefined ? keyOf(setting) : `${setting.group}.${keyOf(setting)}`;
  const flag = setting.hasFlag ? `\`--${setting.name}\`` : "none";
  const names = [flag, `\`${variableOf(setting)}\``, `\`${key}\``];
  return `| ${[...names, setting.accepted, setting.help].join(" | ")} |`;
}

Deno.test("the page of settings has a row for every setting, as the table says it", () => {
  for (const setting of SETTINGS) {
    assert(ROWS.includes(row(setting)), `docs/configuration.md lacks this row:\n${row(setting)}`);
  }
});

Deno.test("the page of settings names nothing that is no setting", () => {
  assertEquals(ROWS.filter((line) => !SETTINGS.some((setting) => line === row(setting))), []);
});
