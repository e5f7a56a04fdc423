// The short form of the differential fuzzer for CI: some random sequences of methods on Reprise and on
// RabbitMQ. Installs Debian's package where that is possible, and is not run where it is not. Used by
// scripts/lib/ci_parts.ts; the long form is `deno task fuzz:rabbitmq`.

import { existsSync } from "node:fs";
import process from "node:process";
import { hasRabbitMq } from "../../test/differential/rabbitmq.ts";
import { run } from "./process.ts";
import { denoCommand, ROOT } from "./runtimes.ts";
import { addCheck, emptyTally, type Tally } from "./tally.ts";

const COUNT = 150;
const SECONDS = 50;
const RUN_TIMEOUT_MS = 240_000;
const INSTALL_TIMEOUT_MS = 300_000;

/** Runs the sequences; each difference is one failure. */
export async function runBesideRabbitMq(): Promise<Tally> {
  const tally = emptyTally();
  if (!hasRabbitMq()) await install();
  if (!hasRabbitMq()) {
    console.log("RabbitMQ cannot be installed here");
    tally.skipped++;
    return tally;
  }
  const options = [`--count=${COUNT}`, `--seconds=${SECONDS}`, "--seed=1"];
  const command = [...denoCommand(), "run", "-A", "test/differential/main.ts", ...options];
  const result = await run(command, { cwd: ROOT, quiet: true, timeoutMs: RUN_TIMEOUT_MS });
  const last = result.output.trimEnd().split("\n").at(-1) ?? "";
  addCheck(tally, `beside RabbitMQ: ${last}`, result.code === 0);
  console.log(result.code === 0 ? last : result.output);
  return tally;
}

// The package must not start a service of its own, which would take the usual ports.
async function install(): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  const env = { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const options = { env, quiet: true, timeoutMs: INSTALL_TIMEOUT_MS };
  await run(["apt-get", "update"], options);
  await run(["apt-get", "install", "-y", "--no-install-recommends", "rabbitmq-server"], options);
}
