// Whole brokers beside each other, driven by bench/amqpblast.c: every profile runs several rounds, in each
// round one broker after the other, and medians and ratios are printed and written as JSON. A C
// compiler is needed; RabbitMQ is measured where it is installed.
//   node bench/versus/main.ts --bun=PATH --deno=PATH --node=PATH [--profiles=a,b] [--rounds=5]
//     [--seconds=5] [--json=FILE] [--peer NAME='COMMAND with {port} {dir}']

import { writeFileSync } from "node:fs";
import { median } from "../core/results.ts";
import { type Blast, compileBlast, runBlast } from "./blast.ts";
import { type RunningBroker, type Subject, subjects } from "./brokers.ts";
import { option, peers, runtimeCommands } from "./options.ts";

interface Profile {
  readonly name: string;
  readonly isDurable: boolean;
  /** Arguments of amqpblast. */
  readonly blast: readonly string[];
  /** Queues, each with a load of its own; one when left out. */
  readonly queues?: number;
}

const PROFILES: readonly Profile[] = [
  { name: "no-ack", isDurable: false, blast: [] },
  { name: "ack-100", isDurable: false, blast: ["-a", "1", "-P", "100"] },
  { name: "confirm-100", isDurable: false, blast: ["-c", "100"] },
  { name: "1KiB", isDurable: false, blast: ["-s", "1024"] },
  { name: "64KiB", isDurable: false, blast: ["-s", "65536"] },
  { name: "publish-only", isDurable: false, blast: ["-y", "0"] },
  ...durable("durable", []),
  ...durable("durable-1KiB", ["-s", "1024"]),
  ...durable("durable-64KiB", ["-s", "65536"]),
  ...durable("durable-10-queues", [], 10),
  // Without a consumer nothing is over before it has to be on a disk.
  ...durable("stored", ["-y", "0"]),
  ...durable("stored-1KiB", ["-y", "0", "-s", "1024"]),
  ...durable("stored-64KiB", ["-y", "0", "-s", "65536"]),
  ...durable("stored-10-queues", ["-y", "0"], 10),
];

/** Persistent messages with confirms, in windows of 1, 100 and 1000. */
function durable(name: string, blast: readonly string[], queues = 1): Profile[] {
  return [1, 100, 1000].map((window) => ({
    name: `${name}-${window}`,
    isDurable: true,
    blast: ["-d", "-c", String(window), ...blast],
    queues,
  }));
}

/** One run of one broker. */
interface Measured {
  published: number;
  consumed: number;
  confirmed: number;
  cpuSeconds: number;
  seconds: number;
  residentMiB: number;
}

async function run(
  blast: Blast,
  broker: RunningBroker,
  profile: Profile,
  seconds: number,
): Promise<Measured> {
  const cpuBefore = broker.cpuSeconds();
  const loads = Array.from({ length: profile.queues ?? 1 }, (_, index) => {
    const args = ["-t", String(seconds), "-q", `blast-${index}`, ...profile.blast];
    return runBlast(blast, broker.port, args);
  });
  const rates = await Promise.all(loads);
  const sum = (name: "published" | "consumed" | "confirmed") =>
    rates.reduce((total, rate) => total + rate[name], 0);
  return {
    published: sum("published"),
    consumed: sum("consumed"),
    confirmed: sum("confirmed"),
    cpuSeconds: broker.cpuSeconds() - cpuBefore,
    seconds,
    residentMiB: broker.residentMiB(),
  };
}

async function measure(
  blast: Blast,
  subject: Subject,
  profile: Profile,
  seconds: number,
): Promise<Measured> {
  const broker = await subject.start(profile.isDurable);
  try {
    await run(blast, broker, profile, 1);
    return await run(blast, broker, profile, seconds);
  } finally {
    await broker.stop();
  }
}

// What moved: messages that were both taken in and given out cost more than those only taken in.
function cpuMicrosPerMessage(one: Measured): number {
  const messages = Math.max(one.published, one.consumed, one.confirmed) * one.seconds;
  return (one.cpuSeconds * 1e6) / messages;
}

function row(name: string, runs: readonly Measured[], base: readonly Measured[] | undefined) {
  const of = (value: (one: Measured) => number, from = runs) => median(from.map(value));
  const ratio = (value: (one: Measured) => number) =>
    base === undefined ? "" : ` (${(of(value) / of(value, base)).toFixed(2)}x)`;
  const published = (one: Measured) => one.confirmed > 0 ? one.confirmed : one.published;
  const consumed = (one: Measured) => one.consumed;
  return `| ${name} | ${Math.round(of(published))}${ratio(published)} | ${
    Math.round(of(consumed))
  }${ratio(consumed)} | ${of(cpuMicrosPerMessage).toFixed(2)}${ratio(cpuMicrosPerMessage)} | ${
    of((one) => one.residentMiB)
  } |`;
}

async function main(): Promise<void> {
  const rounds = Number(option("rounds") ?? 5);
  const seconds = Number(option("seconds") ?? 5);
  const wanted = option("profiles")?.split(",");
  const all = subjects(runtimeCommands(), peers());
  const blast = compileBlast();
  const results: Record<string, Record<string, Measured[]>> = {};
  for (const profile of PROFILES) {
    if (wanted !== undefined && !wanted.includes(profile.name)) continue;
    const byName: Record<string, Measured[]> = {};
    for (let round = 0; round < rounds; round++) {
      for (const subject of all) {
        const measured = await measure(blast, subject, profile, seconds);
        (byName[subject.name] ??= []).push(measured);
      }
    }
    results[profile.name] = byName;
    console.log(
      `\n${profile.name}: ${profile.queues ?? 1} x amqpblast ${profile.blast.join(" ")}, ` +
        `${rounds} x ${seconds} s`,
    );
    console.log("| broker | in msg/s | out msg/s | CPU µs/msg | MiB |\n|---|---|---|---|---|");
    for (const [name, runs] of Object.entries(byName)) {
      console.log(row(name, runs, byName["RabbitMQ"]));
    }
  }
  const file = option("json");
  if (file !== undefined) writeFileSync(file, JSON.stringify(results, null, 2));
}

await main();
