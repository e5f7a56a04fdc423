// A backlog beyond memory: publishes N messages of a given size to one queue of a broker with a file
// store and a memory limit, then consumes them all, and compares the rates with those of a queue that
// stays short, in the same process. Prints how the memory of the process grew. In one process without
// sockets, so that what is measured is the broker and its store. Run it with any runtime:
//
//   deno run -A bench/backlog.ts --messages 5000000 --body 16 --memory 268435456 [--transient]
//     [--dir FOLDER] [--json]

import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { EMPTY_TABLE } from "../src/amqp/field_value.ts";
import { Publisher } from "../src/broker/publish/publisher.ts";
import type { Queue } from "../src/broker/queue/queue.ts";
import { folderBytes, FolderNode, messageTo, mib, Taker } from "./folder_node.ts";
import { StepTimes } from "./steps.ts";

// As many as four connections may bring in a turn.
const PER_TURN_MAX = 1000;
const BYTES_PER_TURN = 512 * 1024;
const PREFETCH = 2000;
const SHORT_COUNT_MAX = 200_000;
// Of the memory limit, what a short queue takes.
const SHORT_PART = 8;
const MESSAGE_OVERHEAD_BYTES = 150;
const SHORT_RUNS = 5;

interface Request {
  messages: number;
  body: number;
  memory: number;
  isTransient: boolean;
  dir: string;
  isJson: boolean;
}

function parse(args: string[]): Request {
  const valueOf = (name: string, otherwise: number): number => {
    const at = args.indexOf(`--${name}`);
    return at < 0 ? otherwise : Number(args[at + 1]);
  };
  const at = args.indexOf("--dir");
  return {
    messages: valueOf("messages", 1_000_000),
    body: valueOf("body", 16),
    memory: valueOf("memory", 256 * 1024 * 1024),
    isTransient: args.includes("--transient"),
    dir: at < 0 ? fs.mkdtempSync(join(tmpdir(), "reprise-backlog-")) : args[at + 1]!,
    isJson: args.includes("--json"),
  };
}

/** What so many messages cost. */
interface Spent {
  perSecond: number;
  /** CPU time of the process, which other programs on the machine change little. */
  cpuMicros: number;
}

/** Measures time by the clock and by the processor. */
class Watch {
  readonly #startMs = performance.now();
  readonly #cpu = process.cpuUsage();

  spent(count: number): Spent {
    const { user, system } = process.cpuUsage(this.#cpu);
    return {
      perSecond: Math.round(count * 1000 / (performance.now() - this.#startMs)),
      cpuMicros: Number(((user + system) / count).toFixed(2)),
    };
  }
}

/** A node with one queue. */
class Node extends FolderNode {
  readonly #publisher: Publisher;
  readonly #message: ReturnType<typeof messageTo>;

  constructor(request: Request) {
    super(request);
    this.#publisher = new Publisher(this.vhost);
    this.#message = messageTo("q", request.body, request.isTransient ? {} : { deliveryMode: 2 });
  }

  /** Publishes `count` messages, held up where publishers would be. */
  async publish(count: number, seen: (done: number) => void): Promise<Spent> {
    const watch = new Watch();
    const { bodyEnd } = this.#message;
    const fitting = Math.ceil(BYTES_PER_TURN / (bodyEnd + MESSAGE_OVERHEAD_BYTES));
    const perTurn = Math.min(PER_TURN_MAX, fitting);
    for (let done = 0; done < count;) {
      const isBlocked = this.broker.isMemoryBlocked;
      await this.turn(() => {
        for (let i = 0; i < perTurn && done < count && !isBlocked; i++, done++) {
          this.#publisher.publish(this.#message);
        }
      });
      seen(done);
    }
    return watch.spent(count);
  }

  /** Takes and acks everything in the queue. */
  async consume(queue: Queue, seen: (done: number) => void): Promise<Spent> {
    const taker = new Taker();
    const watch = new Watch();
    const count = queue.readyCount;
    const options = { tag: "c", noAck: false, prefetch: PREFETCH, priority: 0, exclusive: false };
    const consumer = queue.consume({ ...options, channel: taker });
    while (taker.taken < count) {
      await this.turn(() => taker.unacked.ack(0, true));
      seen(taker.taken);
    }
    await this.turn(() => taker.unacked.ack(0, true));
    queue.cancel(consumer);
    return watch.spent(count);
  }
}

function median(values: Spent[]): Spent {
  const middle = values.length >> 1;
  return {
    perSecond: values.map((one) => one.perSecond).sort((a, b) => a - b)[middle]!,
    cpuMicros: values.map((one) => one.cpuMicros).sort((a, b) => a - b)[middle]!,
  };
}

function ratio(a: number, b: number): number {
  return Number((a / b).toFixed(2));
}

/** Memory of the process while something goes on, and its slope by least squares. */
class Memory {
  readonly #xs: number[] = [];
  readonly #ys: number[] = [];
  readonly #every: number;
  mostBytes = 0;

  constructor(every: number) {
    this.#every = every;
  }

  look(done: number): void {
    if (done < this.#xs.length * this.#every) return;
    const bytes = process.memoryUsage().rss;
    this.#xs.push(done);
    this.#ys.push(bytes);
    this.mostBytes = Math.max(this.mostBytes, bytes);
  }

  /** Bytes per message over the second half, when everything has found its size. */
  get slope(): number {
    const from = this.#xs.length >> 1;
    const xs = this.#xs.slice(from);
    const ys = this.#ys.slice(from);
    const meanX = xs.reduce((a, b) => a + b, 0) / xs.length;
    const meanY = ys.reduce((a, b) => a + b, 0) / ys.length;
    let top = 0;
    let bottom = 0;
    for (let i = 0; i < xs.length; i++) {
      top += (xs[i]! - meanX) * (ys[i]! - meanY);
      bottom += (xs[i]! - meanX) ** 2;
    }
    return top / bottom;
  }
}

async function measureShort(
  node: Node,
  { body, memory }: Request,
): Promise<{ publish: Spent; consume: Spent }> {
  const fitting = Math.floor(memory / SHORT_PART / (body + MESSAGE_OVERHEAD_BYTES));
  const count = Math.min(SHORT_COUNT_MAX, fitting);
  const queue = node.queue("q", EMPTY_TABLE);
  const publishes: Spent[] = [];
  const consumes: Spent[] = [];
  for (let run = 0; run < SHORT_RUNS; run++) {
    publishes.push(await node.publish(count, () => {}));
    consumes.push(await node.consume(queue, () => {}));
  }
  return { publish: median(publishes), consume: median(consumes) };
}

const request = parse(process.argv.slice(2));
const steps = new StepTimes();
const node = new Node(request);
const queue = node.queue("q", EMPTY_TABLE);
const short = await measureShort(node, request);
const shortBytes = process.memoryUsage().rss;
node.longestTurnMs = 0;
steps.takeLongest();
const growing = new Memory(request.messages / 100);
const publish = await node.publish(request.messages, (done) => growing.look(done));
const publishMs = { turn: Math.round(node.longestTurnMs), ...steps.takeLongest() };
const folderMostBytes = folderBytes(request.dir);
node.longestTurnMs = 0;
const shrinking = new Memory(request.messages / 100);
const consume = await node.consume(queue, (done) => shrinking.look(done));
const result = {
  runtime: process.versions.bun !== undefined
    ? `bun ${process.versions.bun}`
    : `${"Deno" in globalThis ? "deno" : "node"} ${process.versions.deno ?? process.version}`,
  messages: request.messages,
  body: request.body,
  kind: request.isTransient ? "transient" : "persistent",
  memoryLimitMiB: mib(request.memory),
  shortQueue: short,
  backlog: { publish, consume },
  rateRatio: {
    publish: ratio(publish.perSecond, short.publish.perSecond),
    consume: ratio(consume.perSecond, short.consume.perSecond),
  },
  cpuRatio: {
    publish: ratio(publish.cpuMicros, short.publish.cpuMicros),
    consume: ratio(consume.cpuMicros, short.consume.cpuMicros),
  },
  rssMiB: {
    short: mib(shortBytes),
    most: mib(Math.max(growing.mostBytes, shrinking.mostBytes)),
  },
  rssBytesPerMessage: Number(growing.slope.toFixed(2)),
  folderMiB: mib(folderMostBytes),
  longestMs: {
    publish: publishMs,
    consume: { turn: Math.round(node.longestTurnMs), ...steps.takeLongest() },
  },
};
console.log(request.isJson ? JSON.stringify(result) : result);
await node.store.close(Date.now());
fs.rmSync(request.dir, { recursive: true });
