// Follows the README's set-up commands in fresh copies, with nothing installed before: the test command
// and the three ways to start. Used by scripts/ci.ts. Each start must print the ready line and answer
// its health check.

import { type Background, startUntil } from "./background.ts";
import { freshCopy } from "./fresh_copy.ts";
import { run, type RunOptions } from "./process.ts";
import { NODE_MIN, nodeCommand, VERSIONS } from "./runtimes.ts";
import { addCheck, emptyTally, type Tally } from "./tally.ts";

const TEST_TIMEOUT_MS = 1_200_000;
const INSTALL_TIMEOUT_MS = 300_000;
const DENO = ["npx", "-y", `deno@${VERSIONS.deno}`];
const BUN = ["npx", "-y", `bun@${VERSIONS.bun}`];
const CLOSING_LINE = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m;

/** Runs the test command of the README in a fresh copy and counts what it counted. */
export async function testFromBareClone(): Promise<Tally> {
  const copy = freshCopy();
  try {
    const options: RunOptions = { cwd: copy.path, quiet: true, timeoutMs: TEST_TIMEOUT_MS };
    const { code, output } = await run([...DENO, "task", "test"], options);
    const tally = readClosingLine(output);
    if (code !== 0 && tally.failed === 0) addCheck(tally, `deno: exit code ${code}`, false);
    if (tally.failed > 0) console.log(output);
    return tally;
  } finally {
    copy.remove();
  }
}

/** Reads back the closing line and the failures named before it. */
export function readClosingLine(output: string): Tally {
  const tally = emptyTally();
  const [, passed, failed, skipped] = CLOSING_LINE.exec(output) ?? [];
  if (passed === undefined) addCheck(tally, "deno: printed no closing line", false);
  tally.passed += Number(passed ?? 0);
  tally.failed += Number(failed ?? 0);
  tally.skipped += Number(skipped ?? 0);
  for (const [, name] of output.matchAll(/^failed: (.*)$/gm)) tally.failures.push(name!);
  return tally;
}

async function answersHealth(broker: Background): Promise<boolean> {
  const address = /http=(\S+)/.exec(broker.line)?.[1];
  const response = await fetch(`http://${address}/api/health`);
  await response.body?.cancel();
  return response.status === 200;
}

async function starts(command: string[], install?: string[]): Promise<boolean> {
  const copy = freshCopy();
  try {
    if (install !== undefined) {
      const options = { cwd: copy.path, quiet: true, timeoutMs: INSTALL_TIMEOUT_MS };
      const { code, output } = await run(install, options);
      if (code !== 0) throw new Error(`${install.join(" ")} failed:\n${output}`);
    }
    const env = { REPRISE_AMQP_PORT: "0", REPRISE_HTTP_PORT: "0" };
    const broker = await startUntil(command, "reprise ready", { cwd: copy.path, env });
    try {
      return await answersHealth(broker);
    } finally {
      await broker.stop();
    }
  } catch (error) {
    console.log(error instanceof Error ? error.message : error);
    return false;
  } finally {
    copy.remove();
  }
}

/** Starts the broker from fresh copies in each way the README names; one check each. */
export async function startFromBareClone(tally: Tally): Promise<void> {
  const check = async (name: string, command: string[], install?: string[]): Promise<void> => {
    const ok = await starts(command, install);
    addCheck(tally, name, ok);
    console.log(`${ok ? "ok    " : "FAILED"} ${name}`);
  };
  await check("bare clone: deno task start", [...DENO, "task", "start"]);
  await check("bare clone: bun run start", [...BUN, "run", "start"]);
  const node = nodeCommand(NODE_MIN);
  await check("bare clone: node src/main.ts", [...node, "src/main.ts"], ["npm", "install"]);
}
