// Follows the README's set-up commands in fresh copies, with nothing installed before: the test command
// and the ways to start, one after another in one clone. Used by scripts/ci.ts. Each start must print the
// ready line and answer its health check.

import { type Background, startUntil } from "./background.ts";
import { type FreshCopy, freshCopy } from "./fresh_copy.ts";
import { run, type RunOptions } from "./process.ts";
import { NODE_MIN, nodeCommand, VERSIONS } from "./runtimes.ts";
import { addCheck, readClosingLine, type Tally } from "./tally.ts";

const TEST_TIMEOUT_MS = 1_200_000;
const INSTALL_TIMEOUT_MS = 300_000;
const DENO = ["npx", "-y", `deno@${VERSIONS.deno}`];
const BUN = ["npx", "-y", `bun@${VERSIONS.bun}`];

/** Runs the test command of the README in a fresh copy and counts what it counted. */
export async function testFromBareClone(): Promise<Tally> {
  const copy = freshCopy();
  try {
    const options: RunOptions = { cwd: copy.path, quiet: true, timeoutMs: TEST_TIMEOUT_MS };
    const { code, output } = await run([...DENO, "task", "test"], options);
    const tally = readClosingLine(output, "deno");
    if (code !== 0 && tally.failed === 0) addCheck(tally, `deno: exit code ${code}`, false);
    if (tally.failed > 0) console.log(output);
    return tally;
  } finally {
    copy.remove();
  }
}

async function answersHealth(broker: Background): Promise<boolean> {
  const address = /http=(\S+)/.exec(broker.line)?.[1];
  const response = await fetch(`http://${address}/api/health`);
  await response.body?.cancel();
  return response.status === 200;
}

/** Starts the broker in a copy, asks for its health and ends it; undefined, or what went wrong. */
async function starts(copy: FreshCopy, command: readonly string[]): Promise<string | undefined> {
  const env = { REPRISE_AMQP_PORT: "0", REPRISE_HTTP_PORT: "0" };
  try {
    const broker = await startUntil(command, "reprise ready", { cwd: copy.path, env });
    try {
      return await answersHealth(broker) ? undefined : "does not answer";
    } finally {
      await broker.stop();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Runs a command in a copy to its end; undefined, or what went wrong. */
async function ends(copy: FreshCopy, command: readonly string[]): Promise<string | undefined> {
  const options = { cwd: copy.path, quiet: true, timeoutMs: INSTALL_TIMEOUT_MS };
  const { code, output } = await run(command, options);
  return code === 0 ? undefined : `${command.join(" ")} failed:\n${output}`;
}

type Step = (copy: FreshCopy) => Promise<string | undefined>;

/** The README's ways to start and to test; one small file of tests, which says as much about packages. */
function steps(): Readonly<Record<string, Step>> {
  const node = nodeCommand(NODE_MIN);
  const test = (task: string): Step => (copy) =>
    ends(copy, [...DENO, "task", task, "test/unit/version_test.ts"]);
  return {
    "deno task start": (copy) => starts(copy, [...DENO, "task", "start"]),
    "bun run start": (copy) => starts(copy, [...BUN, "run", "start"]),
    "npm install && node src/main.ts": async (copy) =>
      await ends(copy, ["npm", "install"]) ?? await starts(copy, [...node, "src/main.ts"]),
    "deno task build && node dist/reprise.js": async (copy) =>
      await ends(copy, [...DENO, "task", "build"]) ??
        await starts(copy, ["node", "dist/reprise.js"]),
    "deno task test": test("test"),
    "deno task test:bun": test("test:bun"),
    "deno task test:node": test("test:node"),
  };
}

/**
 * Orders in which one clone is used. In the first each way to start is the first one once or comes right
 * after each other one; the others begin with the tests of a runtime and with the bundle.
 */
const ORDERS: readonly (readonly string[])[] = [
  [
    "deno task start",
    "npm install && node src/main.ts",
    "deno task start",
    "bun run start",
    "npm install && node src/main.ts",
    "bun run start",
    "deno task start",
    "deno task test",
    "deno task test:bun",
  ],
  ["bun run start", "deno task test:node", "npm install && node src/main.ts", "deno task test"],
  ["deno task test:bun", "npm install && node src/main.ts", "deno task start", "bun run start"],
  ["deno task build && node dist/reprise.js", "bun run start", "npm install && node src/main.ts"],
];

/** Follows the README in fresh copies, each way to start and to test in several orders; one check each. */
export async function startFromBareClone(tally: Tally): Promise<void> {
  const all = steps();
  for (const order of ORDERS) {
    const copy = freshCopy();
    try {
      for (const [index, name] of order.entries()) {
        const problem = await all[name]!(copy);
        const after = index === 0 ? "in a bare clone" : `after ${order[index - 1]}`;
        addCheck(tally, `${name} ${after}`, problem === undefined);
        console.log(`${problem === undefined ? "ok    " : "FAILED"} ${name} ${after}`);
        if (problem !== undefined) console.log(problem);
      }
    } finally {
      copy.remove();
    }
  }
}
