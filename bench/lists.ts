// How long other clients wait while lists of many queues are read over HTTP: starts a broker in a process
// of its own, declares queues, and asks it a short question again and again over AMQP (a passive declare)
// while a third process reads lists. It prints, by what is read, how long that took and the median and
// the worst answer of the bystander, and at the end the most memory that the broker has taken. Run it with
// any runtime; --runtime says what the broker runs on:
//
//   node bench/lists.ts [--runtime bun|deno|node] [--queues 20000]

import amqplib, { type Channel } from "amqplib";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { programCommand } from "../scripts/lib/runtimes.ts";

const FILE = fileURLToPath(import.meta.url);
const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const PING_INTERVAL_MS = 2;
const IDLE_MS = 3_000;
const DECLARES_AT_ONCE = 200;
const COLUMNS = Array.from({ length: 100 }, (_, i) => `column${i}`).join(",");
const PATTERN = encodeURIComponent("(a?){190}(a|b){40}z$");

/** What is read, and how often at the same time. */
const CASES: readonly (readonly [string, string, number])[] = [
  ["one list", "", 1],
  ["twenty lists at once", "", 20],
  ["sorted by a value", "?sort=messages&page=1&page_size=100", 1],
  ["twenty sorted by a value", "?sort=messages&page=1&page_size=100", 20],
  ["a pattern of many steps", `?use_regex=true&name=${PATTERN}`, 1],
  ["a hundred columns", `?columns=${COLUMNS}`, 1],
];

function argument(name: string, otherwise: string): string {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1] ?? otherwise;
}

/** The process that reads lists: so often at the same time, to their ends. */
async function readLists(url: string, count: number): Promise<void> {
  const headers = { authorization: `Basic ${btoa("guest:guest")}` };
  const read = async () => {
    const response = await fetch(url, { headers });
    let byteCount = 0;
    for await (const chunk of response.body!) byteCount += chunk.length;
    return `${response.status} ${byteCount}`;
  };
  const startMs = performance.now();
  const answers = new Set(await Promise.all(Array.from({ length: count }, read)));
  console.log(`${Math.round(performance.now() - startMs)} ms, ${[...answers].join(", ")} bytes`);
}

interface Started {
  readonly child: ChildProcess;
  readonly amqp: string;
  readonly http: string;
}

function startBroker(runtime: "bun" | "deno" | "node"): Promise<Started> {
  const [file, ...before] = programCommand(runtime);
  const flags = ["--memory", "--amqp-port", "0", "--http-port", "0"];
  const child = spawn(file!, [...before, MAIN, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the broker ended with ${code}`)));
    child.stdout.setEncoding("utf8").once("data", (line: string) => {
      const [, amqp, http] = /amqp=(\S+) http=(\S+)/.exec(line)!;
      resolve({ child, amqp: amqp!, http: http! });
    });
  });
}

async function declareQueues(channel: Channel, count: number): Promise<void> {
  for (let at = 0; at < count; at += DECLARES_AT_ONCE) {
    const names = Array.from(
      { length: Math.min(DECLARES_AT_ONCE, count - at) },
      (_, i) => `a.queue.with.a.name.of.usual.length.${at + i}`,
    );
    await Promise.all(names.map((name) => channel.assertQueue(name, { durable: false })));
  }
}

/** Asks until `until` is over; what the answers took, ms, in order. */
async function ping(channel: Channel, until: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  until.finally(() => isOver = true);
  const took: number[] = [];
  while (!isOver) {
    const startMs = performance.now();
    await channel.checkQueue("ping");
    took.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, PING_INTERVAL_MS));
  }
  return took.sort((a, b) => a - b);
}

function show(name: string, took: readonly number[], what: string): void {
  const median = took[took.length >> 1]!.toFixed(1);
  const worst = took.at(-1)!.toFixed(1);
  console.log(`${name}: median ${median} ms, worst ${worst} ms of ${took.length} (${what})`);
}

function readInOtherProcess(url: string, count: number): Promise<string> {
  const before = process.versions["deno"] === undefined ? [] : ["run", "-A"];
  const args = [...before, FILE, "--read", url, "--count", String(count)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => text += piece);
  return new Promise((resolve) => child.once("close", () => resolve(text.trim())));
}

async function measure(): Promise<void> {
  const runtime = argument("runtime", "bun") as "bun" | "deno" | "node";
  const queueCount = Number(argument("queues", "20000"));
  const broker = await startBroker(runtime);
  try {
    const connection = await amqplib.connect(`amqp://guest:guest@${broker.amqp}`);
    const channel = await connection.createChannel();
    await channel.assertQueue("ping", { durable: false });
    await declareQueues(channel, queueCount);
    console.log(`${runtime}, ${queueCount} queues`);
    const pause = new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    show("idle", await ping(channel, pause), `${IDLE_MS} ms`);
    for (const [name, query, count] of CASES) {
      const reading = readInOtherProcess(`http://${broker.http}/api/queues${query}`, count);
      const took = await ping(channel, reading);
      show(name, took, await reading);
    }
    await connection.close();
    const status = readFileSync(`/proc/${broker.child.pid}/status`, "utf8");
    console.log(`most memory: ${/VmHWM:\s+(.*)/.exec(status)?.[1]}`);
  } finally {
    broker.child.removeAllListeners("exit");
    broker.child.kill("SIGTERM");
  }
}

const url = argument("read", "");
if (url === "") await measure();
else await readLists(url, Number(argument("count", "1")));
