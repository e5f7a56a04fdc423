// How long the turns take in which one client does something large: an engine over a data folder in this
// process, with clients in memory, and for each case the longest turn, what all of them took together
// and how many there were. The time of the processor counts where it is less than that of the clock.
// Run it with any runtime; `--case TEXT` takes only cases whose name has the text in it:
//
//   deno run -A bench/large_turns.ts [--case TEXT] [--part 10]
//
// `--part`: only so many percent of the messages, for a quick look.

import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setImmediate } from "node:timers";
import * as M from "../src/amqp/methods_gen.ts";
import type { Properties } from "../src/amqp/properties.ts";
import { restoreBroker } from "../src/broker/recovery.ts";
import { DEFAULT_LIMITS } from "../src/broker/limits.ts";
import { residentBytesOf } from "../src/config/memory_split.ts";
import { FolderFileSystem } from "../src/runtime/file_system.ts";
import type { TransportEvents } from "../src/session/transport.ts";
import { FileStore } from "../src/store/file_store.ts";
import { contentFrames, joined, methodFrame } from "../test/support/amqp_client.ts";
import { type Plain, table } from "../test/support/test_broker.ts";
import { TestNode } from "../test/support/test_node.ts";
import { open, SinkTransport } from "./broker/in_process.ts";
import { PauseClock, pauseMs } from "./steps.ts";

const TTL_MS = 3_600_000;
const IDLE_ROUNDS = 20;
const ROUNDS_MAX = 100_000;
const CHUNK_MESSAGES = 1000;
const PERSISTENT: Properties = { deliveryMode: 2 };

/** A node over a folder whose turns are timed. */
class Bench {
  readonly node: TestNode;
  readonly store: FileStore;
  readonly #dir = fs.mkdtempSync(join(tmpdir(), "reprise-large-"));
  #longestMs = 0;
  #allMs = 0;
  #turns = 0;

  constructor() {
    const memory = 2 * DEFAULT_LIMITS.memoryBytesMax;
    this.store = FileStore.open({
      fs: new FolderFileSystem(this.#dir),
      logger: { log: (level, message, fields) => console.error(level, message, fields) },
      isSynced: true,
      freeBytesMin: 0,
      residentBytesMax: residentBytesOf(memory),
      seed: 1,
    });
    const limits = { memoryBytesMax: memory, outboxBytesMax: Infinity };
    this.node = new TestNode({ isManual: true, store: this.store, limits });
    this.node.engine.turn(() => void restoreBroker(this.node.broker, this.store));
  }

  client(): TransportEvents {
    return open(this.node, new SinkTransport());
  }

  time(run: () => void): void {
    const clock = new PauseClock().start();
    run();
    const ms = pauseMs(clock.end());
    this.#longestMs = Math.max(this.#longestMs, ms);
    this.#allMs += ms;
    this.#turns++;
  }

  send(client: TransportEvents, bytes: Uint8Array): void {
    this.time(() => client.received(bytes));
  }

  /** The host's timer fires after a time. */
  wake(elapsedMs: number): void {
    this.node.clock.advance(elapsedMs);
    this.time(() => this.node.engine.turn(() => {}));
  }

  /** Turns until nothing is left to do. */
  async rest(): Promise<void> {
    const { loop } = this.node;
    for (let idle = 0, rounds = 0; idle < IDLE_ROUNDS && rounds < ROUNDS_MAX; rounds++) {
      let hasRun = false;
      this.time(() => hasRun = loop.step());
      idle = hasRun ? 0 : idle + 1;
      // The disk may have something to say yet.
      await new Promise<void>((resolve) => {
        if (hasRun) setImmediate(resolve);
        else setTimeout(resolve, 1);
      });
    }
  }

  /** What there was since the last look. */
  take(): { longestMs: number; allMs: number; turns: number } {
    const taken = { longestMs: this.#longestMs, allMs: this.#allMs, turns: this.#turns };
    this.#longestMs = this.#allMs = this.#turns = 0;
    return taken;
  }

  end(): void {
    this.store.abandon();
    fs.rmSync(this.#dir, { recursive: true });
  }

  async declare(client: TransportEvents, queue: string, args: Plain = {}): Promise<void> {
    const declare = { queue, durable: true, arguments: table(args) };
    this.send(client, methodFrame(M.QUEUE_DECLARE, 1, declare));
    await this.rest();
  }

  async publish(
    client: TransportEvents,
    queue: string,
    { count, properties = PERSISTENT, exchange = "" }: {
      count: number;
      properties?: Properties;
      exchange?: string;
    },
  ): Promise<void> {
    const one = joined([
      methodFrame(M.BASIC_PUBLISH, 1, { exchange, routingKey: queue }),
      contentFrames(1, new Uint8Array(16), properties, 131_064),
    ]);
    const many = joined(Array.from({ length: CHUNK_MESSAGES }, () => one));
    for (let left = count; left > 0; left -= CHUNK_MESSAGES) {
      const messages = Math.min(left, CHUNK_MESSAGES);
      this.send(client, many.slice(0, messages * one.length));
      this.time(() => this.node.loop.step());
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    await this.rest();
  }

  /** Has the client take everything in the queue and cancels its consumer. */
  async consume(client: TransportEvents, queue: string): Promise<void> {
    this.send(client, methodFrame(M.BASIC_CONSUME, 1, { queue, consumerTag: "c" }));
    await this.rest();
    this.send(client, methodFrame(M.BASIC_CANCEL, 1, { consumerTag: "c" }));
    await this.rest();
  }
}

type Case = (bench: Bench, client: TransportEvents, part: number) => Promise<() => void>;

/** Fills a queue, takes everything, and does something with what is out. */
function settling(key: number, args: object, { count, queue = {} }: {
  count: number;
  queue?: Plain;
}): Case {
  return async (bench, client, part) => {
    await bench.declare(client, "q", queue);
    await bench.publish(client, "q", { count: count * part });
    await bench.consume(client, "q");
    return () => bench.send(client, methodFrame(key, 1, args));
  };
}

const CLOSE = { replyCode: 200, replyText: "", classId: 0, methodId: 0 };
const NACK = { deliveryTag: 0, multiple: true, requeue: true };
const RETRIES = { "x-delayed-retry-min": TTL_MS, "x-delayed-retry-jitter": 50 };

const CASES: Readonly<Record<string, Case>> = {
  "400 000 expire": async (bench, client, part) => {
    await bench.declare(client, "q", { "x-message-ttl": TTL_MS });
    await bench.publish(client, "q", { count: 400_000 * part });
    return () => bench.wake(TTL_MS);
  },
  "500 000 nacked into delay": settling(M.BASIC_NACK, NACK, { count: 500_000, queue: RETRIES }),
  "500 000 nacked back": settling(M.BASIC_NACK, NACK, { count: 500_000 }),
  "500 000 dead-lettered": settling(M.BASIC_NACK, { ...NACK, requeue: false }, {
    count: 500_000,
    queue: { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "none" },
  }),
  "500 000 acked": settling(M.BASIC_ACK, { deliveryTag: 0, multiple: true }, { count: 500_000 }),
  "1 000 000 recovered": settling(M.BASIC_RECOVER, { requeue: true }, { count: 1_000_000 }),
  "1 000 000 returned by a channel": settling(M.CHANNEL_CLOSE, CLOSE, { count: 1_000_000 }),
  "1 000 000 returned by a lost client": async (bench, client, part) => {
    await settling(M.BASIC_RECOVER, {}, { count: 1_000_000 })(bench, client, part);
    return () => bench.time(() => client.closed());
  },
  "500 000 delays end": async (bench, client, part) => {
    const queue = { "x-delayed-retry-min": TTL_MS };
    const nack = await settling(M.BASIC_NACK, NACK, { count: 500_000, queue })(bench, client, part);
    nack();
    await bench.rest();
    return () => bench.wake(TTL_MS);
  },
  "500 000 purged": async (bench, client, part) => {
    await bench.declare(client, "q");
    await bench.publish(client, "q", { count: 500_000 * part });
    return () => bench.send(client, methodFrame(M.QUEUE_PURGE, 1, { queue: "q" }));
  },
  "commit of 300 000 publishes": async (bench, client, part) => {
    await bench.declare(client, "q");
    bench.send(client, methodFrame(M.TX_SELECT, 1));
    await bench.publish(client, "q", { count: 300_000 * part });
    return () => bench.send(client, methodFrame(M.TX_COMMIT, 1));
  },
  "commit of 300 000 acks": async (bench, client, part) => {
    const publisher = bench.client();
    await bench.declare(client, "q");
    await bench.publish(publisher, "q", { count: 300_000 * part });
    bench.send(client, methodFrame(M.TX_SELECT, 1));
    await bench.consume(client, "q");
    bench.send(client, methodFrame(M.BASIC_ACK, 1, { deliveryTag: 0, multiple: true }));
    await bench.rest();
    return () => bench.send(client, methodFrame(M.TX_COMMIT, 1));
  },
  "body of 128 MiB published": async (bench, client, part) => {
    await bench.declare(client, "q");
    return () => sendBody(bench, client, part);
  },
  "body of 128 MiB delivered": async (bench, client, part) => {
    await bench.declare(client, "q");
    sendBody(bench, client, part);
    await bench.rest();
    return () =>
      bench.send(client, methodFrame(M.BASIC_CONSUME, 1, { queue: "q", consumerTag: "c" }));
  },
  "queue with 100 000 topic bindings deleted": async (bench, client, part) => {
    await bindMany(bench, client, part);
    return () => bench.send(client, methodFrame(M.QUEUE_DELETE, 1, { queue: "q" }));
  },
  "exchange with 100 000 topic bindings deleted": async (bench, client, part) => {
    await bindMany(bench, client, part);
    return () => bench.send(client, methodFrame(M.EXCHANGE_DELETE, 1, { exchange: "topics" }));
  },
  "100 messages to 10 000 queues each": async (bench, client, part) => {
    const count = Math.floor(10_000 * part);
    for (let i = 0; i < count; i++) {
      const declare = { queue: `q${i}`, durable: true, nowait: true };
      client.received(methodFrame(M.QUEUE_DECLARE, 1, declare));
      const bind = { queue: `q${i}`, exchange: "amq.fanout", nowait: true };
      client.received(methodFrame(M.QUEUE_BIND, 1, bind));
      if (i % CHUNK_MESSAGES === 0) await bench.rest();
    }
    await bench.rest();
    return () => void bench.publish(client, "", { count: 100, exchange: "amq.fanout" });
  },
  "client with 20 000 consumers lost": async (bench, client, part) => {
    await bench.declare(client, "q");
    for (let i = 0; i < 20_000 * part; i++) {
      const consume = { queue: "q", consumerTag: `c${i}`, nowait: true };
      client.received(methodFrame(M.BASIC_CONSUME, 1, consume));
      if (i % CHUNK_MESSAGES === 0) await bench.rest();
    }
    await bench.rest();
    return () => bench.time(() => client.closed());
  },
  "client with 2000 channels of 500 unacked lost": async (bench, client, part) => {
    await bench.declare(client, "q");
    const count = Math.floor(2000 * part);
    await bench.publish(client, "q", { count: 500 * count });
    for (let i = 1; i <= count; i++) {
      if (i > 1) client.received(methodFrame(M.CHANNEL_OPEN, i, {}));
      client.received(methodFrame(M.BASIC_QOS, i, { prefetchSize: 0, prefetchCount: 500 }));
      client.received(methodFrame(M.BASIC_CONSUME, i, { queue: "q", nowait: true }));
      if (i % 50 === 0) await bench.rest();
    }
    await bench.rest();
    return () => bench.time(() => client.closed());
  },
  "client with 20 000 exclusive queues lost": async (bench, client, part) => {
    for (let i = 0; i < 20_000 * part; i++) {
      const declare = { queue: `q${i}`, exclusive: true, nowait: true };
      client.received(methodFrame(M.QUEUE_DECLARE, 1, declare));
      if (i % CHUNK_MESSAGES === 0) await bench.rest();
    }
    await bench.rest();
    return () => bench.time(() => client.closed());
  },
  "20 000 idle queues expire": async (bench, client, part) => {
    for (let i = 0; i < 20_000 * part; i++) {
      const args = table({ "x-expires": TTL_MS });
      const declare = { queue: `q${i}`, durable: true, arguments: args, nowait: true };
      client.received(methodFrame(M.QUEUE_DECLARE, 1, declare));
      if (i % CHUNK_MESSAGES === 0) await bench.rest();
    }
    await bench.rest();
    return () => bench.wake(TTL_MS);
  },
  "rollback of 300 000 publishes": async (bench, client, part) => {
    await bench.declare(client, "q");
    bench.send(client, methodFrame(M.TX_SELECT, 1));
    await bench.publish(client, "q", { count: 300_000 * part });
    return () => bench.send(client, methodFrame(M.TX_ROLLBACK, 1));
  },
  "ack of 300 000 in a transaction": async (bench, client, part) => {
    const publisher = bench.client();
    await bench.declare(client, "q");
    await bench.publish(publisher, "q", { count: 300_000 * part });
    bench.send(client, methodFrame(M.TX_SELECT, 1));
    await bench.consume(client, "q");
    return () => {
      bench.send(client, methodFrame(M.BASIC_ACK, 1, { deliveryTag: 0, multiple: true }));
    };
  },
  "20 000 publishes to a queue that drops its oldest": async (bench, client, part) => {
    await bench.declare(client, "q", { "x-max-length": 10 });
    return () => void bench.publish(client, "q", { count: 20_000 * part });
  },
  "500 000 returned to a queue of at most 10": async (bench, client, part) => {
    const count = 500_000 * part;
    await bench.declare(client, "q", { "x-max-length": 10 });
    bench.send(client, methodFrame(M.BASIC_CONSUME, 1, { queue: "q", consumerTag: "c" }));
    await bench.publish(client, "q", { count });
    bench.send(client, methodFrame(M.BASIC_CANCEL, 1, { consumerTag: "c" }));
    await bench.rest();
    return () => bench.send(client, methodFrame(M.BASIC_NACK, 1, NACK));
  },
  "message routed by 100 000 topic bindings": async (bench, client, part) => {
    await bindMany(bench, client, part);
    return () => void bench.publish(client, "a.1.2", { count: 1, exchange: "topics" });
  },
};

// One frame after the other, as a socket brings them.
function sendBody(bench: Bench, client: TransportEvents, part: number): void {
  const size = Math.floor(134_217_728 * part);
  const publish = methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "q" });
  const content = contentFrames(1, new Uint8Array(size), PERSISTENT, 131_064);
  bench.send(client, publish);
  for (let at = 0; at < content.length; at += 65_536) {
    bench.send(client, content.slice(at, at + 65_536));
    bench.time(() => bench.node.loop.step());
  }
}

async function bindMany(bench: Bench, client: TransportEvents, part: number): Promise<void> {
  const declare = { exchange: "topics", type: "topic", durable: true };
  bench.send(client, methodFrame(M.EXCHANGE_DECLARE, 1, declare));
  await bench.declare(client, "q");
  const count = 100_000 * part;
  for (let i = 0; i < count; i++) {
    const bind = { queue: "q", exchange: "topics", routingKey: `a.${i}.*`, nowait: true };
    client.received(methodFrame(M.QUEUE_BIND, 1, bind));
    if (i % CHUNK_MESSAGES === 0) await bench.rest();
  }
  await bench.rest();
}

function valueOf(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

const part = Number(valueOf("part") ?? 100) / 100;
console.log("ms of the processor".padEnd(48), "longest      all    turns");
for (const [name, prepare] of Object.entries(CASES)) {
  if (!name.includes(valueOf("case") ?? "")) continue;
  const bench = new Bench();
  const act = await prepare(bench, bench.client(), part);
  bench.take();
  act();
  await bench.rest();
  const { longestMs, allMs, turns } = bench.take();
  const numbers = [longestMs, allMs].map((ms) => ms.toFixed(1).padStart(8));
  console.log(name.padEnd(48), numbers.join(" "), String(turns).padStart(8));
  bench.end();
}
process.exit(0);
