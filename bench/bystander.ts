// How long a client that does next to nothing waits for its answers while others keep the broker busy:
// with nobody else, while 40 000 messages dead-letter at once, and beside three publishers that flood
// it. Broker and bystander are programs of their own, on every runtime that is given. pauses.ts calls it.

import amqplib from "amqplib";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Answers } from "./bystander_client.ts";
import { LARGE_WORK } from "./large_work.ts";
import { type RunningBroker, type RuntimeCommands, subjects } from "./versus/brokers.ts";

const CLIENT = fileURLToPath(new URL("./bystander_client.ts", import.meta.url));
const RUNS = 5;
const IDLE_MS = 3_000;
const FLOOD_MS = 4_000;
const DEAD_COUNT = 40_000;
/** The messages are published within this time and expire together at its end. */
const FILL_MS = 6_000;
const LOOKS_MAX = 600;
const KIB = Buffer.alloc(1024, 120);

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** The bystander, asking from its line `ready` on. */
class Bystander {
  readonly #child: ChildProcess;
  #text = "";
  #wake = () => {};

  constructor(port: number) {
    const flags = process.versions["deno"] === undefined ? [] : ["run", "--no-check", "-A"];
    this.#child = spawn(process.execPath, [...flags, CLIENT, String(port)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout!.on("data", (bytes) => {
      this.#text += bytes;
      this.#wake();
    });
  }

  async lines(count: number): Promise<string[]> {
    while (this.#text.split("\n").length <= count) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#text.split("\n");
  }

  async end(): Promise<Answers> {
    this.#child.stdin!.end();
    const lines = await this.lines(2);
    return JSON.parse(lines[1]!) as Answers;
  }
}

/** Fills a queue whose messages expire together, and calls `begin` before they do. */
async function deadLetters(broker: RunningBroker, begin: () => Promise<void>): Promise<void> {
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${broker.port}`);
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue("dead");
  const args = { deadLetterExchange: "", deadLetterRoutingKey: "dead" };
  await channel.assertQueue("expiring", args);
  const endMs = Date.now() + FILL_MS;
  for (let i = 0; i < DEAD_COUNT; i++) {
    const expiration = String(Math.max(0, endMs - Date.now()));
    if (channel.sendToQueue("expiring", KIB, { expiration })) continue;
    await new Promise((resolve) => channel.once("drain", resolve));
  }
  await channel.waitForConfirms();
  await begin();
  for (let i = 0; i < LOOKS_MAX; i++) {
    if ((await channel.checkQueue("dead")).messageCount === DEAD_COUNT) break;
    await pause(100);
  }
  await connection.close();
}

/** One publisher that writes as fast as its socket takes it, into a queue that drops its oldest. */
async function flood(port: number, name: string, untilMs: number): Promise<void> {
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${port}`);
  const channel = await connection.createChannel();
  await channel.assertQueue(name, { maxLength: 1000 });
  while (Date.now() < untilMs) {
    const hasRoom = channel.sendToQueue(name, KIB);
    if (!hasRoom) await new Promise((resolve) => channel.once("drain", resolve));
  }
  await connection.close();
}

async function floods(broker: RunningBroker): Promise<void> {
  const untilMs = Date.now() + FLOOD_MS;
  await Promise.all(["f1", "f2", "f3"].map((name) => flood(broker.port, name, untilMs)));
}

const LOADS: Readonly<
  Record<string, (broker: RunningBroker, begin: () => Promise<void>) => Promise<void>>
> = {
  idle: (_broker, begin) => begin().then(() => pause(IDLE_MS)),
  "40 000 dead letters": deadLetters,
  "three floods": (broker, begin) => begin().then(() => floods(broker)),
  ...LARGE_WORK,
};

async function run(kind: string, start: () => Promise<RunningBroker>): Promise<Answers> {
  const broker = await start();
  let bystander: Bystander | undefined;
  const begin = async () => {
    bystander = new Bystander(broker.port);
    await bystander.lines(1);
  };
  try {
    await LOADS[kind]!(broker, begin);
    return await bystander!.end();
  } finally {
    await broker.stop();
  }
}

/** What is measured: everything unless something else is said. */
export interface BystanderRequest {
  /** Only cases whose name has this in it. */
  readonly only: string;
  readonly runs: number;
}

/** Measures every case on every runtime that is given and prints the worst of its runs, five by default. */
export async function measureBystander(
  commands: RuntimeCommands,
  { only, runs: runCount }: BystanderRequest = { only: "", runs: RUNS },
): Promise<void> {
  console.log("answers in ms           ".padEnd(44), "  worst  median  (every run's worst)");
  for (const subject of subjects(commands)) {
    if (!subject.name.startsWith("Reprise")) continue;
    for (const kind of Object.keys(LOADS).filter((name) => name.includes(only))) {
      const runs: Answers[] = [];
      // What is large is to go to a disk as well.
      const isDurable = LARGE_WORK[kind] !== undefined;
      for (let i = 0; i < runCount; i++) runs.push(await run(kind, () => subject.start(isDurable)));
      const worst = runs.reduce((a, b) => a.worstMs > b.worstMs ? a : b);
      const each = runs.map(({ worstMs }) => worstMs.toFixed(0)).join(" ");
      const numbers = [worst.worstMs, worst.medianMs].map((ms) => ms.toFixed(1).padStart(7));
      console.log(`${subject.name}, ${kind}`.padEnd(44), numbers.join(" "), ` (${each})`);
    }
  }
}
