// README's first command, as it stands there, in a copy of the project, and the signal to the process that
// the user started. In real time: what is tested is npm, a shell and a task runner between the two.

import { assert, assertEquals, assertFalse, assertMatch } from "@std/assert";
import amqplib from "amqplib";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { detectRuntime } from "../../src/runtime/detect.ts";
import { Program } from "./support/program.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LEFT_OUT = new Set([
  ".git",
  ".cache",
  "node_modules",
  "dist",
  "test",
  "bench",
  "reprise-data",
]);
const STOP_MS_MAX = 5000;

async function withCopy(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-npx-"));
  try {
    cpSync(ROOT, folder, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function firstCommand(): string[] {
  const [, command] = /^```sh[^\n]*\n([^\n]+)\n```/m.exec(
    readFileSync(`${ROOT}README.md`, "utf8"),
  )!;
  assertMatch(command!, /^npx -y deno@\S+ task start$/);
  return command!.split(" ");
}

async function start(cwd: string): Promise<{ program: Program; url: string }> {
  const env = { REPRISE_AMQP_PORT: "0", REPRISE_HTTP_PORT: "0", REPRISE_LOG_LEVEL: "info" };
  const program = new Program([], { cwd, env, command: firstCommand(), file: null, isGroup: true });
  const line = await program.firstLine();
  const [, amqp] = /^reprise ready amqp=(\S+) /.exec(line) ?? [];
  assert(amqp !== undefined, line);
  return { program, url: `amqp://guest:guest@${amqp}` };
}

/** Waits for the end of everything that was started, which must have stopped once, in order, in time. */
async function assertStops(program: Program): Promise<void> {
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    program.signalGroup("SIGKILL");
  }, STOP_MS_MAX);
  // The output ends when the last process that holds it has ended.
  const { stderr } = await program.ended;
  clearTimeout(limit);
  assertFalse(isLate, `still there after ${STOP_MS_MAX} ms`);
  assertEquals([...stderr.matchAll(/stopping/g)].length, 1, stderr);
}

// What is tested does not depend on the runtime of the tests, and starts no bundle.
if (detectRuntime() === "deno" && process.env["TEST_DIST"] === undefined) {
  Deno.test("SIGTERM to npx ends the broker that README's first command started", async () => {
    await withCopy(async (folder) => {
      const { program, url } = await start(folder);
      const connection = await amqplib.connect(url);
      const reason = new Promise<string>((resolve) => {
        connection.on("error", (error: Error) => resolve(error.message));
        connection.on("close", (error?: Error) => resolve(error?.message ?? "closed"));
      });
      program.signal("SIGTERM");
      await assertStops(program);
      assertMatch(await reason, /320 \(CONNECTION-FORCED\)/);
    });
  });

  Deno.test("SIGINT to everybody, as from a terminal, ends it once and in order", async () => {
    await withCopy(async (folder) => {
      const { program } = await start(folder);
      program.signalGroup("SIGINT");
      await assertStops(program);
    });
  });
}
