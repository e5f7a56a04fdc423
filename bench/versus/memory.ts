// Whether a broker stays within its memory: Reprise under each runtime given is told to with --max-memory,
// gets several times as much in persistent messages of each size, and gives them out again, through
// sockets. Prints the most resident memory of the process while it was idle, publishing and consuming.
// A C compiler and /proc are needed.
//   node bench/versus/memory.ts --bun=PATH --deno=PATH --node=PATH [--max-memory=268435456]
//     [--bytes=536870912] [--bodies=1024,8192,65536,1048576] [--publishers=1]

import { type Blast, compileBlast, runBlast } from "./blast.ts";
import { type RunningBroker, type Subject, subjects } from "./brokers.ts";
import { option, runtimeCommands } from "./options.ts";

const LOOK_MS = 20;
const IDLE_MS = 1000;
const SECONDS_MAX = 300;

/** What is measured. */
interface Load {
  readonly maxMemory: number;
  readonly bytes: number;
  readonly body: number;
  readonly publishers: number;
}

/** The most resident memory while something goes on, MiB. */
async function mostWhile(broker: RunningBroker, work: Promise<unknown>): Promise<number> {
  let most = 0;
  const look = () => most = Math.max(most, broker.residentMiB());
  const timer = setInterval(look, LOOK_MS);
  await work;
  clearInterval(timer);
  look();
  return most;
}

async function measure(blast: Blast, subject: Subject, load: Load): Promise<void> {
  const { body, bytes, publishers } = load;
  const broker = await subject.start(true, [`--max-memory=${load.maxMemory}`]);
  const count = Math.ceil(bytes / body);
  // The last ones are lost with the connection of their publisher.
  const expected = Math.floor(count * 0.9);
  const common = ["-d", "-s", `${body}`, "-t", `${SECONDS_MAX}`];
  try {
    const idle = await mostWhile(broker, new Promise((resolve) => setTimeout(resolve, IDLE_MS)));
    const publishing = ["-y", "0", "-x", `${publishers}`, "-c", "100", "-n", `${count}`];
    const filled = runBlast(blast, broker.port, [...common, ...publishing]);
    const publish = await mostWhile(broker, filled);
    const taking = ["-e", "-x", "0", "-a", "20", "-P", "200", "-n", `${expected}`];
    const emptied = runBlast(blast, broker.port, [...common, ...taking]);
    const consume = await mostWhile(broker, emptied);
    console.log(`| ${subject.name} | ${body} | ${idle} | ${publish} | ${consume} |`);
  } finally {
    await broker.stop();
  }
}

async function main(): Promise<void> {
  const maxMemory = Number(option("max-memory") ?? 256 * 1024 * 1024);
  const bytes = Number(option("bytes") ?? 512 * 1024 * 1024);
  const publishers = Number(option("publishers") ?? 1);
  const bodies = (option("bodies") ?? "1024,8192,65536,1048576").split(",").map(Number);
  const blast = compileBlast();
  console.log("| broker | body bytes | idle MiB | publishing | consuming |");
  console.log("| --- | --- | --- | --- | --- |");
  for (const subject of subjects(runtimeCommands())) {
    // Other brokers share out their memory in ways of their own.
    if (!subject.name.startsWith("Reprise")) continue;
    for (const body of bodies) {
      await measure(blast, subject, { maxMemory, bytes, body, publishers });
    }
  }
}

await main();
