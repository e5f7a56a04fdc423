// The retry cycle through sockets: a consumer that rejects everything, a durable queue whose delay is one
// millisecond, and a broker of its own process under each runtime given. Prints how many messages a
// second go through reject, delay and redelivery, what one costs the broker, and the bytes that one
// retry adds to the commit log. A C compiler is needed.
//   node bench/versus/retries.ts --bun=PATH --deno=PATH --node=PATH [--rounds=5] [--seconds=5]
//     [--messages=20000]

import amqplib from "amqplib";
import { Buffer } from "node:buffer";
import { median } from "../core/results.ts";
import { compileBlast, runBlast } from "./blast.ts";
import { type RunningBroker, type Subject, subjects } from "./brokers.ts";
import { option, runtimeCommands } from "./options.ts";

/** One run. */
interface Measured {
  retriesPerSecond: number;
  logBytesPerRetry: number;
  cpuMicrosPerRetry: number;
}

/** What a broker counts. */
interface Counters {
  retries: number;
  loggedBytes: number;
}

async function counters(broker: RunningBroker): Promise<Counters> {
  const headers = { authorization: `Basic ${btoa("guest:guest")}` };
  const response = await fetch(`http://127.0.0.1:${broker.httpPort}/metrics`, { headers });
  const text = await response.text();
  const valueOf = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  return {
    retries: valueOf("reprise_retry_redelivered_total"),
    loggedBytes: valueOf("reprise_store_logged_bytes_total"),
  };
}

async function fill(broker: RunningBroker, messages: number): Promise<void> {
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${broker.port}`);
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue("retry", {
    arguments: {
      "x-delayed-retry-min": 1,
      "x-delayed-retry-multiplier": 1,
      "x-delivery-limit": 2 ** 31 - 1,
    },
  });
  for (let number = 0; number < messages; number++) {
    channel.sendToQueue("retry", Buffer.alloc(16), { persistent: true });
  }
  await channel.waitForConfirms();
  await connection.close();
}

async function measure(subject: Subject): Promise<Measured> {
  const broker = await subject.start(true);
  try {
    await fill(broker, Number(option("messages") ?? 20_000));
    const seconds = Number(option("seconds") ?? 5);
    // One nack for a hundred messages, as a consumer that keeps up would send them.
    const load = ["-q", "retry", "-e", "-r", "-a", "100", "-x", "0", "-y", "1"];
    const running = runBlast(blast, broker.port, [...load, "-t", String(seconds + 2)]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const before = await counters(broker);
    const cpuBefore = broker.cpuSeconds();
    const startMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const after = await counters(broker);
    const elapsedMs = performance.now() - startMs;
    const cpuSeconds = broker.cpuSeconds() - cpuBefore;
    await running;
    const retries = after.retries - before.retries;
    return {
      retriesPerSecond: (retries * 1000) / elapsedMs,
      logBytesPerRetry: (after.loggedBytes - before.loggedBytes) / retries,
      cpuMicrosPerRetry: (cpuSeconds * 1e6) / retries,
    };
  } finally {
    await broker.stop();
  }
}

const blast = compileBlast();
const found = subjects(runtimeCommands()).filter(({ name }) => name !== "RabbitMQ");
const results = new Map<string, Measured[]>(found.map(({ name }) => [name, []]));
for (let round = 0; round < Number(option("rounds") ?? 5); round++) {
  for (const subject of found) results.get(subject.name)!.push(await measure(subject));
}
console.log("| broker | retries/s | CPU µs/retry | log bytes/retry |\n|---|---|---|---|");
for (const [name, runs] of results) {
  const of = (value: (one: Measured) => number) => median(runs.map(value));
  const rate = Math.round(of((one) => one.retriesPerSecond));
  const cpu = of((one) => one.cpuMicrosPerRetry).toFixed(2);
  const bytes = of((one) => one.logBytesPerRetry).toFixed(1);
  console.log(`| ${name} | ${rate} | ${cpu} | ${bytes} |`);
}
