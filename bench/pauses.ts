// How long the pieces of work take that keep a turn from ending while a node holds many messages: fills
// a queue, publishes and consumes beside the backlog, and purges it, in one process without sockets, and
// prints by phase and kind of work how many pieces there were, what 999 of 1000 stay below, the longest,
// and what that was made of (steps.ts). Run it with any runtime:
//
//   deno run -A bench/pauses.ts [--kind ready|delayed|expired|dead] [--messages 5000000] [--queues 1]
//     [--memory 1073741824] [--body 16] [--min 1] [--dir FOLDER]
//
// `ready` waits in the queue, `delayed` in its retry queue; `expired` and `dead` expire all at once, the
// latter to a dead-letter exchange. `--min`: kinds of which no piece took so many ms are left out.
// With `--kind bystander` it measures from outside instead (bystander.ts):
//
//   deno run -A bench/pauses.ts --kind bystander [--runtimes deno,bun,node] [--case TEXT] [--runs 5]
//
// `--case`: only those whose name has the text in it; what is large of one client is among them.

import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import {
  EMPTY_TABLE,
  type FieldTable,
  type FieldValue,
  longField,
  textField,
} from "../src/amqp/field_value.ts";
import { Publisher } from "../src/broker/publish/publisher.ts";
import type { Queue } from "../src/broker/queue/queue.ts";
import { CAUSE_CLOSE, CAUSE_REJECT } from "../src/broker/retry/rules.ts";
import { programCommand, type RuntimeName, RUNTIMES } from "../scripts/lib/runtimes.ts";
import { measureBystander } from "./bystander.ts";
import { FolderNode, messageTo, Taker } from "./folder_node.ts";
import { pauseMs, type Step, StepTimes } from "./steps.ts";

// As many as four connections may bring in a turn.
const PER_TURN = 1000;
const PREFETCH = 1000;
const DELAY_MS_MAX = 8 * 3600 * 1000;
const IDLE_TURNS = 50;
const LARGEST_PREFETCH = 65_535;

type Kind = "ready" | "delayed" | "expired" | "dead";

interface Request {
  kind: Kind;
  messages: number;
  queues: number;
  memory: number;
  body: number;
  min: number;
  dir: string;
}

function parse(args: string[]): Request {
  const textOf = (name: string): string | undefined => {
    const at = args.indexOf(`--${name}`);
    return at < 0 ? undefined : args[at + 1];
  };
  const numberOf = (name: string, otherwise: number) => Number(textOf(name) ?? otherwise);
  return {
    kind: (textOf("kind") ?? "ready") as Kind,
    messages: numberOf("messages", 5_000_000),
    queues: numberOf("queues", 1),
    memory: numberOf("memory", 1024 ** 3),
    body: numberOf("body", 16),
    min: numberOf("min", 1),
    dir: textOf("dir") ?? fs.mkdtempSync(join(tmpdir(), "reprise-pauses-")),
  };
}

function argsOf(kind: Kind): FieldTable {
  if (kind === "ready") return EMPTY_TABLE;
  if (kind === "delayed") {
    return new Map([
      ["x-delayed-retry-min", longField(DELAY_MS_MAX)],
      ["x-delayed-retry-multiplier", longField(1)],
      ["x-delayed-retry-jitter", longField(100)],
    ]);
  }
  const ttl: [string, FieldValue] = ["x-message-ttl", longField(DELAY_MS_MAX)];
  if (kind === "expired") return new Map([ttl]);
  return new Map([
    ttl,
    ["x-dead-letter-exchange", textField("")],
    ["x-dead-letter-routing-key", textField("dead")],
  ]);
}

/** A node, its queues and who publishes to them. */
class Bench {
  readonly node: FolderNode;
  readonly queues: Queue[];
  readonly #messages: ReturnType<typeof messageTo>[];
  readonly #publisher: Publisher;
  readonly #request: Request;
  readonly taker = new Taker();

  constructor(request: Request) {
    this.#request = request;
    this.node = new FolderNode(request, {
      delayedPerQueueMax: Infinity,
      delayedPerNodeMax: Infinity,
    });
    const { kind, queues, body } = request;
    this.node.queue("dead", EMPTY_TABLE);
    const names = Array.from({ length: queues }, (_, index) => `q${index}`);
    this.queues = names.map((name) => this.node.queue(name, argsOf(kind)));
    this.#messages = names.map((name) => messageTo(name, body, { deliveryMode: 2 }));
    this.#publisher = new Publisher(this.node.vhost);
  }

  /** Publishes `count` messages over all queues, beside `each` turn's other work. */
  async publish(count: number, each: () => void): Promise<void> {
    const messages = this.#messages;
    for (let done = 0; done < count;) {
      const isBlocked = this.node.broker.isMemoryBlocked;
      await this.node.turn(() => {
        for (let i = 0; i < PER_TURN && done < count && !isBlocked; i++, done++) {
          this.#publisher.publish(messages[done % messages.length]!);
        }
        each();
      });
    }
  }

  /** Turns until nothing is left to do. */
  async rest(each: () => void = () => {}): Promise<void> {
    for (let idle = 0; idle < IDLE_TURNS;) {
      await this.node.turn(each);
      const { broker, store } = this.node;
      const isIdle = !broker.hasMoreWork && store.safeBatch + 1 >= store.openBatch;
      idle = isIdle ? idle + 1 : 0;
      if (isIdle) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  consume(queue: Queue, prefetch: number): ReturnType<Queue["consume"]> {
    const options = { tag: queue.name, noAck: false, priority: 0, exclusive: false };
    return queue.consume({ ...options, prefetch, channel: this.taker });
  }

  async run(phase: (name: string, work: () => Promise<void>) => Promise<void>): Promise<void> {
    const { kind, messages } = this.#request;
    const { taker, node } = this;
    const ackAll = () => void taker.unacked.ack(0, true);
    if (kind === "expired" || kind === "dead") {
      await phase("fill", () => this.publish(messages, () => {}));
      node.aheadMs = DELAY_MS_MAX;
      await phase("expire", () => this.rest());
      return;
    }
    if (kind === "delayed") {
      for (const queue of this.queues) this.consume(queue, PREFETCH);
      const rejectAll = () => void taker.unacked.reject(0, true, true, CAUSE_REJECT);
      await phase("fill", async () => {
        await this.publish(messages, rejectAll);
        while (node.broker.delayedTable.count < messages * 0.99) await node.turn(rejectAll);
      });
      await phase("publish, consume", () => this.publish(messages / 4, ackAll));
      await phase("purge", () => this.#purge(ackAll));
      return;
    }
    await phase("fill", () => this.publish(messages, () => {}));
    const consumers = this.queues.map((queue) => this.consume(queue, PREFETCH));
    await phase("publish, consume", () => this.publish(messages / 2, ackAll));
    for (const consumer of consumers) consumer.queue.cancel(consumer);
    await phase("requeue of 65 535", () => this.#requeue());
    await phase("purge", () => this.#purge(ackAll));
  }

  async #requeue(): Promise<void> {
    const consumer = this.consume(this.queues[0]!, LARGEST_PREFETCH);
    this.taker.unacked.ack(0, true);
    while (this.taker.unacked.count < LARGEST_PREFETCH) await this.node.turn(() => {});
    await this.node.turn(() => {
      this.queues[0]!.cancel(consumer);
      this.taker.unacked.requeueAll(CAUSE_CLOSE, true);
    });
    await this.rest();
  }

  async #purge(ackAll: () => void): Promise<void> {
    await this.node.turn(() => {
      ackAll();
      for (const queue of this.queues) queue.purge();
    });
    await this.rest(ackAll);
  }
}

function valueOf(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

if (valueOf("kind") === "bystander") {
  const names = (valueOf("runtimes")?.split(",") ?? RUNTIMES) as RuntimeName[];
  await measureBystander(
    Object.fromEntries(names.map((name) => [name, programCommand(name)[0]!])),
    { only: valueOf("case") ?? "", runs: Number(valueOf("runs") ?? 5) },
  );
  process.exit(0);
}

const request = parse(process.argv.slice(2));
const steps = new StepTimes();
const bench = new Bench(request);
bench.node.onTurn = (turn: Step) => steps.note("turn", turn);
bench.node.onWork = (work: Step) => steps.note("clients", work);
const runtime = process.versions["bun"] !== undefined
  ? `bun ${process.versions["bun"]}`
  : `${"Deno" in globalThis ? "deno" : "node"} ${process.versions["deno"] ?? process.version}`;
console.log(runtime, request);

function column(value: number, digits = 1): string {
  return value.toFixed(digits).padStart(9);
}

await bench.rest();
steps.take();
await bench.run(async (name, work) => {
  const startMs = performance.now();
  await work();
  // The observer of collections is told later.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const seconds = (performance.now() - startMs) / 1000;
  const { rss } = process.memoryUsage();
  console.log(`\n${name}: ${seconds.toFixed(1)} s, ${Math.round(rss / 1024 ** 2)} MiB`);
  console.log(`${"".padEnd(22)}    count    p99.9  longest    clock      cpu   system       gc`);
  for (const [kind, { count, mostMs, longest }] of [...steps.take()].sort()) {
    if (pauseMs(longest) < request.min) continue;
    const { ms, cpuMs, systemMs, gcMs } = longest;
    const numbers = [mostMs, pauseMs(longest), ms, cpuMs, systemMs, gcMs].map((value) =>
      column(value)
    );
    console.log(kind.padEnd(22) + column(count, 0) + numbers.join(""));
  }
});
bench.node.store.abandon();
fs.rmSync(request.dir, { recursive: true });
process.exit(0);
