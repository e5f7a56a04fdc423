// Who started the program: npm, whose end must end it, or anybody else, whose end is no business of ours.

import { assert, assertEquals, assertFalse } from "@std/assert";
import { spawn } from "node:child_process";
import process from "node:process";
import { type Ancestor, lineage } from "../../../src/runtime/process_table.ts";
import { isStart, onStarterGone, starterOf } from "../../../src/runtime/starter.ts";

const MAIN = "/bin/deno run -A src/main.ts";
const NPX = {
  npm_lifecycle_event: "npx",
  npm_lifecycle_script: "'deno'",
  npm_config_user_agent: "npm/11.19.1 node/v20.20.2 linux x64",
};
const NPM_START = {
  ...NPX,
  npm_lifecycle_event: "start",
  npm_lifecycle_script: "bun src/main.ts",
};
const BUN = { ...NPM_START, npm_config_user_agent: "bun/1.4.5 npm/? node/v26.3.0 linux x64" };

/** Processes of one group, from this one up, below a shell in another; numbered 100, 99 ... */
function family(commands: readonly string[], leader: number): () => Ancestor[] {
  return () =>
    [...commands, "-bash"].map((command, index) => ({
      identity: { pid: 100 - index, started: "1", boot: "" },
      parentPid: 99 - index,
      groupId: index === commands.length ? 1 : leader,
      command,
    }));
}

function watched(environment: Record<string, string>, commands: string[], leader: number) {
  const starter = starterOf(environment, family(commands, leader));
  return starter && [starter.processes.map(({ pid }) => pid), starter.isGone];
}

Deno.test("starterOf() names everybody from npm down", () => {
  const npx = ["deno task start", "sh -c 'deno' task start --memory", "npm exec deno task start"];
  assertEquals(watched(NPX, [MAIN, ...npx], 97), [[99, 98, 97], false]);
  const bun = ["bun run start", "sh -c 'bun' run start", "npm exec bun run start"];
  assertEquals(watched(NPX, ["bun src/main.ts", ...bun], 97), [[99, 98, 97], false]);
  const start = ["sh -c bun src/main.ts", "npm start"];
  assertEquals(watched(NPM_START, ["bun src/main.ts", ...start], 98), [[99, 98], false]);
  const named = ["/bin/sh -c 'reprise' --users '[{\"name\":\"a;b\"}]'", "npm exec reprise"];
  assertEquals(watched(NPX, ["node dist/reprise.js", ...named], 98), [[99, 98], false]);
});

Deno.test("starterOf() watches nobody when npm has no part in it", () => {
  assertEquals(watched({}, [MAIN, "deno task start"], 99), null);
  // Variables that a terminal has from elsewhere, and a service, a terminal's job, a nohup in a script.
  assertEquals(watched(BUN, ["bun src/main.ts", "bun run start"], 99), [[], false]);
  assertEquals(watched(BUN, ["bun src/main.ts", "bun run start"], 90), [[], false]);
  assertEquals(watched(NPX, [MAIN], 100), [[], false]);
  assertEquals(watched(NPX, [MAIN, "deno task start"], 99), [[], false]);
  assertEquals(watched(NPX, [MAIN, "deno task start", "bash ./services.sh"], 98), [[], false]);
  // The shell has put npm's command in its own place, as bash does: signals reach it.
  assertEquals(watched(NPX, [MAIN, "deno task start", "npm exec deno task start"], 98), [
    [],
    false,
  ]);
  assertEquals(starterOf(NPX, () => []), null);
});

Deno.test("starterOf() watches nobody when the start is one of several commands", () => {
  const script = "nohup deno task start & sleep 1";
  const environment = { ...NPX, npm_lifecycle_event: "dev", npm_lifecycle_script: script };
  const commands = [MAIN, "deno task start", `sh -c ${script}`, "npm run dev"];
  assertEquals(watched(environment, commands, 97), [[], false]);
  assertEquals(watched(environment, [MAIN, "deno task start"], 97), [[], false]);
});

Deno.test("starterOf() sees that npm has gone before the broker began", () => {
  assertEquals(watched(NPX, [MAIN, "deno task start"], 90), [[], true]);
  assertEquals(watched(NPM_START, ["bun src/main.ts"], 90), [[], true]);
});

Deno.test("isStart() takes the start of the program alone", () => {
  for (const script of ["'deno' task start", "bun src/main.ts", "reprise", "/x/reprise --memory"]) {
    assert(isStart(script), script);
  }
  for (
    const script of [
      "deno task start && echo ended",
      "deno task start &",
      "deno task test",
      "nohup deno task start",
      "reprise-top",
      "make start",
    ]
  ) assertFalse(isStart(script), script);
});

Deno.test("onStarterGone() calls back when one of them has ended", async () => {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const own = lineage()[0]!.identity;
  const identity = { pid: child.pid!, started: "", boot: "" };
  await new Promise<void>((resolve) => {
    onStarterGone({ processes: [own, identity], isGone: false }, resolve);
  });
  await ended;
  onStarterGone(null, () => assert(false))();
});
