// A client that does next to nothing, in a process of its own: asks for a queue's counts again and
// again and prints how long the answers took, as one line of JSON, when its input ends. Started by
// bystander.ts with the broker's port.

import amqplib from "amqplib";
import process from "node:process";

const GAP_MS = 3;

/** How long the answers took, ms. */
export interface Answers {
  readonly count: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

async function ask(port: string): Promise<void> {
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${port}`);
  const channel = await connection.createChannel();
  const { queue } = await channel.assertQueue("", { exclusive: true });
  let isOver = false;
  process.stdin.on("end", () => isOver = true).resume();
  const times: number[] = [];
  // The first answers are those of code that nobody has compiled yet.
  for (let i = 0; i < 50; i++) await channel.checkQueue(queue);
  console.log("ready");
  while (!isOver) {
    const startMs = performance.now();
    await channel.checkQueue(queue);
    times.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, GAP_MS));
  }
  times.sort((a, b) => a - b);
  const answers: Answers = {
    count: times.length,
    medianMs: times[times.length >> 1] ?? 0,
    worstMs: times.at(-1) ?? 0,
  };
  console.log(JSON.stringify(answers));
  await connection.close();
}

await ask(process.argv[2]!);
process.exit(0);
