// docs/embedding-the-broker.md has a row for every option of the library door.
import { assert, assertGreater, assertRejects } from "@std/assert";
import { readFileSync } from "node:fs";
import { Broker, ConfigError } from "../../src/mod.ts";

const PAGE = readFileSync(new URL("../../docs/embedding-the-broker.md", import.meta.url), "utf8");

Deno.test("the page of the library door has a row for every option", async () => {
  // The refusal of an unknown option names the known ones.
  const unknown = { nothing: true } as object;
  const { message } = await assertRejects(() => Broker.start(unknown), ConfigError);
  const options = message.split("accepted: ")[1]!.split(" ");
  assertGreater(options.length, 10);
  for (const option of options) {
    assert(PAGE.includes(`\n| \`${option}\` `), `docs/embedding-the-broker.md lacks ${option}`);
  }
});
