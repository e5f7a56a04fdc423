// The real thing, in short: a broker of its own process under load is killed a few times, and a client
// outside that remembers what it was told finds everything there. In real time, because what is tested
// is a real process and a real disk. `deno task sigkill` is the long form.

import { assertEquals } from "@std/assert";
import { withFolder } from "../e2e/support/folder.ts";
import { startBroker } from "../e2e/support/program.ts";
import { runKills } from "./sigkill/rounds.ts";

Deno.test("a broker killed under load loses nothing and delivers nothing too often", async () => {
  await withFolder(async (folder) => {
    const start = () => startBroker(["--data-dir", folder]);
    assertEquals(await runKills({ rounds: 3, seed: 1, folder, start }), []);
  });
});
