// The Python client tests: test/clients/python/ run by Python's unittest with pika against a broker of
// each runtime. Used by scripts/test_pika.ts and scripts/ci.ts. The tests find the broker through
// REPRISE_AMQP_PORT and REPRISE_HTTP_PORT; what they do is their own business.

import { startUntil } from "./background.ts";
import { run } from "./process.ts";
import { ROOT, type RuntimeName } from "./runtimes.ts";
import { addCheck, emptyTally, type Tally } from "./tally.ts";
import { pythonWithPika, runFileDirectly } from "./tools.ts";

const FOLDER = "test/clients/python";
const RUN_TIMEOUT_MS = 600_000;
const READY = /^reprise ready amqp=\S+:(\d+) http=\S+:(\d+)$/;

/** Runs the Python tests against a broker under the runtime. */
export async function runPika(runtime: RuntimeName, quiet: boolean): Promise<Tally> {
  const label = `pika against ${runtime}`;
  const tally = emptyTally();
  const ports = ["--amqp-port", "0", "--http-port", "0", "--memory"];
  const command = [...runFileDirectly(runtime, "src/main.ts"), ...ports];
  const broker = await startUntil(command, "reprise ready", { cwd: ROOT });
  try {
    const [, amqp, http] = READY.exec(broker.line) ?? [];
    const python = [
      pythonWithPika(),
      "-m",
      "unittest",
      "discover",
      "-s",
      FOLDER,
      "-p",
      "*_test.py",
    ];
    const result = await run(python, {
      cwd: ROOT,
      quiet: true,
      timeoutMs: RUN_TIMEOUT_MS,
      env: { REPRISE_AMQP_PORT: amqp, REPRISE_HTTP_PORT: http, PYTHONDONTWRITEBYTECODE: "1" },
    });
    countUnittest(result.output, label, tally);
    if (result.timedOut) addCheck(tally, `${label}: took too long`, false);
    else if (result.code !== 0 && tally.failed === 0) {
      addCheck(tally, `${label}: exit code ${result.code} outside of any test`, false);
    }
    if (!quiet || tally.failed > 0) console.log(result.output);
  } finally {
    addCheck(tally, `${label}: the broker ends well`, await broker.stop() === 0);
  }
  return tally;
}

/** Adds what unittest reports at its end; no report or no test is a failure. */
export function countUnittest(output: string, label: string, tally: Tally): void {
  const ran = Number(/^Ran (\d+) tests? in /m.exec(output)?.[1] ?? 0);
  if (ran === 0) addCheck(tally, `${label}: ran no test`, false);
  const count = (what: string): number =>
    Number(new RegExp(`^(?:OK|FAILED) \\(.*\\b${what}=(\\d+)`, "m").exec(output)?.[1] ?? 0);
  const failed = count("failures") + count("errors") + count("unexpected successes");
  const skipped = count("skipped");
  tally.failed += failed;
  tally.skipped += skipped;
  tally.passed += Math.max(0, ran - failed - skipped);
  for (const [, name] of output.matchAll(/^(?:FAIL|ERROR): (.*)$/gm)) {
    tally.failures.push(`${label}: ${name}`);
  }
}
