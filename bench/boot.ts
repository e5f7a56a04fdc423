// How long a start takes with many messages in the folder, and what they take of memory: fills a data
// folder with ready or delayed messages (due at random within hours), ends, and starts again, each in a
// process of its own without sockets, so that what is measured is the broker and its store. Run it with
// any runtime:
//
//   deno run -A bench/boot.ts [--ready 1000000] [--delayed 1000000] [--queues 1] [--body 16]
//     [--memory 1073741824] [--rounds 3] [--kill] [--dir FOLDER] [--json]
//
// Without --ready and --delayed it starts on an empty folder. --kill leaves the folder as the end of the
// process does; without it the broker ends in order. --rounds starts are made, the fastest is printed.
// Each goes on until housekeeping has nothing to do, because a start on a long log takes a snapshot:
// `longestMs` are the longest of those turns and of the pieces of work in them (steps.ts),
// `longestFillingMs` those while the folder was filled.

import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { EMPTY_TABLE, type FieldTable, longField } from "../src/amqp/field_value.ts";
import { DEFAULT_LIMITS } from "../src/broker/limits.ts";
import { Publisher } from "../src/broker/publish/publisher.ts";
import { CAUSE_REJECT } from "../src/broker/retry/rules.ts";
import { folderBytes, FolderNode, messageTo, mib, Taker } from "./folder_node.ts";
import { StepTimes } from "./steps.ts";

// As many as four connections may bring in a turn.
const PER_TURN = 1000;
const PREFETCH = 1000;
// Delays are between a hundredth of this and this: none ends while it is measured.
const DELAY_MS_MAX = 8 * 3600 * 1000;
const IDLE_TURNS = 20;
const TURNS_MAX = 1_000_000;

interface Request {
  ready: number;
  delayed: number;
  queues: number;
  body: number;
  memory: number;
  rounds: number;
  isKilled: boolean;
  dir: string;
  isJson: boolean;
  /** Which part of the work this process does; the empty text: it starts the others. */
  phase: string;
}

function parse(args: string[]): Request {
  const textOf = (name: string): string | undefined => {
    const at = args.indexOf(`--${name}`);
    return at < 0 ? undefined : args[at + 1];
  };
  const numberOf = (name: string, otherwise: number): number => Number(textOf(name) ?? otherwise);
  return {
    ready: numberOf("ready", 0),
    delayed: numberOf("delayed", 0),
    queues: numberOf("queues", 1),
    body: numberOf("body", 16),
    memory: numberOf("memory", DEFAULT_LIMITS.memoryBytesMax),
    rounds: numberOf("rounds", 3),
    isKilled: args.includes("--kill"),
    dir: textOf("dir") ?? fs.mkdtempSync(join(tmpdir(), "reprise-boot-")),
    isJson: args.includes("--json"),
    phase: textOf("phase") ?? "",
  };
}

/** What a process that was started for a part of the work has found out. */
interface Report {
  longestTurnMs: number;
  longestStepMs: Record<string, number>;
  rss: number;
  heap: number;
  readyMs: number;
  cpuMs: number;
  rssBase: number;
  rssReady: number;
  accounted: number;
}

/** A node of which some queues delay what is rejected. */
class Node extends FolderNode {
  constructor(request: Request) {
    super(request, { delayedPerQueueMax: Infinity, delayedPerNodeMax: Infinity });
  }

  /** Turns until nothing is left to do, so that everything has found its size. */
  async rest(): Promise<void> {
    let idle = 0;
    for (let turns = 0; turns < TURNS_MAX && idle < IDLE_TURNS; turns++) {
      await this.turn(() => {});
      const isIdle = !this.broker.hasMoreWork && this.store.safeBatch + 1 >= this.store.openBatch;
      idle = isIdle ? idle + 1 : 0;
      if (isIdle) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function argsOf(name: string): FieldTable {
  if (name.startsWith("ready")) return EMPTY_TABLE;
  return new Map([
    ["x-delayed-retry-min", longField(DELAY_MS_MAX)],
    ["x-delayed-retry-multiplier", longField(1)],
    ["x-delayed-retry-jitter", longField(99)],
  ]);
}

/** Publishes to some queues in turn. */
class Source {
  readonly #publisher: Publisher;
  readonly #messages: ReturnType<typeof messageTo>[];

  constructor(node: Node, queues: readonly string[], bodyBytes: number) {
    this.#publisher = new Publisher(node.vhost);
    for (const name of queues) node.queue(name, argsOf(name));
    this.#messages = queues.map((name) => messageTo(name, bodyBytes, { deliveryMode: 2 }));
  }

  publish(index: number): void {
    this.#publisher.publish(this.#messages[index % this.#messages.length]!);
  }
}

function names(kind: "ready" | "delayed", count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}-${index}`);
}

async function publishAll(node: Node, source: Source, count: number, each: () => void) {
  for (let done = 0; done < count;) {
    const isBlocked = node.broker.isMemoryBlocked;
    await node.turn(() => {
      for (let i = 0; i < PER_TURN && done < count && !isBlocked; i++) source.publish(done++);
      each();
    });
  }
}

async function fill(request: Request): Promise<Partial<Report>> {
  const steps = new StepTimes();
  const node = new Node(request);
  const { ready, delayed, queues } = request;
  const readyNames = names("ready", ready === 0 ? 0 : queues);
  await publishAll(node, new Source(node, readyNames, request.body), ready, () => {});
  const delayedNames = names("delayed", delayed === 0 ? 0 : queues);
  const taker = new Taker();
  const rejectAll = () => taker.unacked.reject(0, true, true, CAUSE_REJECT);
  const options = { noAck: false, prefetch: PREFETCH, priority: 0, exclusive: false };
  for (const name of delayedNames) {
    node.queue(name, argsOf(name)).consume({ ...options, tag: name, channel: taker });
  }
  const source = new Source(node, delayedNames, request.body);
  await publishAll(node, source, delayed, rejectAll);
  while (node.broker.delayedTable.count < delayed) await node.turn(rejectAll);
  const longestTurnMs = node.longestTurnMs;
  await node.rest();
  if (!request.isKilled) await node.store.close(Date.now());
  return { longestTurnMs, longestStepMs: steps.takeLongest() };
}

async function start(request: Request): Promise<Report> {
  collect();
  const rssBase = process.memoryUsage().rss;
  const steps = new StepTimes();
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const node = new Node(request);
  const readyMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const counts = { ready: node.restored.ready, delayed: node.restored.delayed };
  // Some of what was delayed may be due already.
  if (counts.ready + counts.delayed !== request.ready + request.delayed) {
    console.error("not what was written", node.restored);
  }
  const rssReady = process.memoryUsage().rss;
  await node.rest();
  collect();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { rss, heapUsed } = process.memoryUsage();
  const { longestTurnMs, broker } = node;
  node.store.abandon();
  return {
    readyMs,
    cpuMs: (user + system) / 1000,
    longestTurnMs,
    longestStepMs: steps.takeLongest(),
    rssBase,
    rssReady,
    rss,
    heap: heapUsed,
    accounted: broker.memoryBytes,
  };
}

// Where the runtime was started with a way to collect at once.
function collect(): void {
  const { gc, Bun } = globalThis as { gc?: () => void; Bun?: { gc(isSync: boolean): void } };
  gc?.();
  Bun?.gc(true);
}

const runtime = process.versions["bun"] !== undefined
  ? "bun"
  : "Deno" in globalThis
  ? "deno"
  : "node";

function child(request: Request, phase: string): Report {
  const flags = { bun: [], node: ["--expose-gc"], deno: ["run", "-A", "--v8-flags=--expose-gc"] };
  const args = [
    ...flags[runtime],
    ...[process.argv[1]!, "--phase", phase, "--dir", request.dir],
    ...["ready", "delayed", "queues", "body", "memory"].flatMap((name) => [
      `--${name}`,
      String(request[name as "ready"]),
    ]),
    ...(request.isKilled ? ["--kill"] : []),
  ];
  const stdio = ["ignore", "pipe", "inherit"] as ["ignore", "pipe", "inherit"];
  const ran = spawnSync(process.execPath, args, { stdio, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`${phase} ended with ${ran.status}`);
  return JSON.parse(ran.stdout) as Report;
}

function measure(request: Request): object {
  const filled = child(request, "fill");
  const bytes = folderBytes(request.dir);
  const starts: Report[] = [];
  // The first start may leave a shorter log to the second; what a user meets is the first.
  const dir = `${request.dir}.copy`;
  for (let round = 0; round < request.rounds; round++) {
    fs.rmSync(dir, { recursive: true, force: true });
    fs.cpSync(request.dir, dir, { recursive: true });
    starts.push(child({ ...request, dir }, "start"));
  }
  fs.rmSync(dir, { recursive: true });
  const fastest = starts.reduce((a, b) => (a.readyMs <= b.readyMs ? a : b));
  const count = Math.max(1, request.ready + request.delayed);
  const grown = fastest.rss - fastest.rssBase;
  return {
    runtime: `${runtime} ${process.versions[runtime]}`,
    ready: request.ready,
    delayed: request.delayed,
    queues: request.queues,
    body: request.body,
    memoryLimitMiB: mib(request.memory),
    end: request.isKilled ? "killed" : "in order",
    folderMiB: mib(bytes),
    readyMs: starts.map((one) => Math.round(one.readyMs)),
    cpuMs: starts.map((one) => Math.round(one.cpuMs)),
    rssMiB: {
      program: mib(fastest.rssBase),
      ready: mib(fastest.rssReady),
      rest: mib(fastest.rss),
    },
    heapMiB: mib(fastest.heap),
    bytesPerMessage: {
      resident: Math.round(grown / count),
      accounted: Math.round(fastest.accounted / count),
    },
    longestMs: { turn: Math.round(fastest.longestTurnMs), ...fastest.longestStepMs },
    longestFillingMs: { turn: Math.round(filled.longestTurnMs), ...filled.longestStepMs },
  };
}

const request = parse(process.argv.slice(2));
if (request.phase === "") {
  const result = measure(request);
  console.log(request.isJson ? JSON.stringify(result) : result);
  fs.rmSync(request.dir, { recursive: true });
} else {
  const report = await (request.phase === "fill" ? fill(request) : start(request));
  console.log(JSON.stringify(report));
  // Where it is to end without an order, this is the end.
  process.exit(0);
}
