// A real file system of a few megabytes that gets full: publishers wait, nothing is confirmed that is not
// there, consumers drain it, and publishing goes on. In real time, with a real process and a real disk;
// not run where nothing can be mounted.

import { assert, assertEquals, assertGreater, assertMatch } from "@std/assert";
import amqplib from "amqplib";
import { Buffer } from "node:buffer";
import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkFolder } from "../../src/check.ts";
import { type ReadyBroker, startBroker } from "../e2e/support/program.ts";
import { mountSmallDisk, type SmallDisk } from "./support/small_disk.ts";

const MEGABYTES = 64;
const BODY_BYTES = 50_000;
const WINDOW_BYTES = 1_000_000;
const WAIT_MS = 60_000;

/** Declares the test if a file system can be mounted; its place in the report says so if not. */
function onSmallDisk(name: string, run: (disk: SmallDisk) => Promise<void>): void {
  const probe = mountSmallDisk(8);
  if (typeof probe === "string") {
    Deno.test.ignore(`${name} (${probe})`, () => {});
    return;
  }
  probe.remove();
  Deno.test(name, async () => {
    const disk = mountSmallDisk(MEGABYTES);
    if (typeof disk === "string") throw new Error(disk);
    try {
      await run(disk);
    } finally {
      disk.remove();
    }
  });
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const endMs = Date.now() + WAIT_MS;
  while (!isSo()) {
    if (Date.now() > endMs) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A publisher with a window that remembers what was confirmed and what was refused. */
class Publisher {
  readonly confirmed = new Set<number>();
  readonly refused = new Set<number>();
  isBlocked = false;
  blockedReason = "";
  #next = 0;
  #waiting = 0;
  #isStopped = false;
  readonly #channel: amqplib.ConfirmChannel;
  readonly #connection: amqplib.ChannelModel;
  readonly #bodyBytes: number;
  readonly #window: number;

  constructor(
    connection: amqplib.ChannelModel,
    channel: amqplib.ConfirmChannel,
    bodyBytes: number,
  ) {
    this.#connection = connection;
    this.#channel = channel;
    this.#bodyBytes = bodyBytes;
    this.#window = Math.max(20, Math.ceil(WINDOW_BYTES / bodyBytes));
    connection.on("blocked", (reason: string) => {
      this.isBlocked = true;
      this.blockedReason = reason;
    });
    connection.on("unblocked", () => this.isBlocked = false);
  }

  static async open(url: string, bodyBytes = BODY_BYTES): Promise<Publisher> {
    const connection = await amqplib.connect(url);
    connection.on("error", () => {});
    const channel = await connection.createConfirmChannel();
    channel.on("error", () => {});
    await channel.assertQueue("q");
    return new Publisher(connection, channel, bodyBytes);
  }

  /** Publishes as fast as confirms come back, until stopped. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      while (this.#waiting < this.#window) this.#publish();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #publish(): void {
    const number = this.#next++;
    this.#waiting++;
    const body = Buffer.alloc(this.#bodyBytes, `${number} `);
    body.write(`${number} `);
    this.#channel.sendToQueue("q", body, { persistent: true }, (error) => {
      this.#waiting--;
      if (error === null) this.confirmed.add(number);
      else this.refused.add(number);
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await until("the last confirms", () => this.#waiting === 0);
    await this.#connection.close();
  }
}

/** Takes and acks everything that comes; which messages that were. */
async function drain(url: string, done: (numbers: Set<number>) => boolean): Promise<Set<number>> {
  const connection = await amqplib.connect(url);
  const channel = await connection.createChannel();
  await channel.prefetch(20);
  const numbers = new Set<number>();
  await channel.consume("q", (message) => {
    if (message === null) return;
    numbers.add(Number(message.content.toString("latin1", 0, 12).split(" ", 1)[0]));
    channel.ack(message);
  });
  await until("everything is consumed", () => done(numbers));
  await channel.checkQueue("q");
  await connection.close();
  return numbers;
}

/** Takes and acks everything there is. */
async function drainToNothing(url: string): Promise<void> {
  const connection = await amqplib.connect(url);
  const channel = await connection.createChannel();
  await channel.prefetch(100);
  const settle = (message: amqplib.Message | null) => {
    if (message !== null) channel.ack(message);
  };
  const { consumerTag } = await channel.consume("q", settle);
  while ((await channel.checkQueue("q")).messageCount > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // What is still on its way to the consumer comes before the answer, and is acknowledged with the rest.
  await channel.cancel(consumerTag);
  assertEquals((await channel.checkQueue("q")).messageCount, 0);
  await connection.close();
}

function freeMegabytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize / 1024 / 1024;
}

function holdsAll(numbers: Set<number>, wanted: Set<number>): boolean {
  return [...wanted].every((number) => numbers.has(number));
}

async function withBroker(
  start: () => Promise<ReadyBroker>,
  run: (broker: ReadyBroker) => Promise<void>,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<{ code: number | null; stderr: string }> {
  const broker = await start();
  try {
    await run(broker);
  } finally {
    broker.program.signal(signal);
    // The disk can be given back only when nobody uses it any more.
    await broker.program.ended;
  }
  return await broker.program.ended;
}

onSmallDisk(
  "a disk that gets full blocks publishers until consumers have made room",
  async (disk) => {
    const folder = join(disk.folder, "data");
    const start = () => startBroker(["--data-dir", folder, "--disk-free-min", "24M"]);
    const { code, stderr } = await withBroker(start, async ({ url }) => {
      const publisher = await Publisher.open(url);
      const running = publisher.run();
      await until("blocked", () => publisher.isBlocked);
      assertEquals(publisher.blockedReason, "low on disk");
      // What was under way is over, and nothing more comes.
      assertGreater(freeMegabytes(disk.folder), 5);
      const before = new Set(publisher.confirmed);
      assertGreater(before.size * BODY_BYTES, 20_000_000);
      const consumed = await drain(url, (numbers) => holdsAll(numbers, before));
      assert(holdsAll(consumed, before));
      await until("unblocked", () => !publisher.isBlocked);
      const count = publisher.confirmed.size;
      await until("publishing goes on", () => publisher.confirmed.size > count + 20);
      await publisher.stop();
      await running;
      assertEquals(publisher.refused.size, 0);
    });
    assertEquals([code, stderr], [0, ""]);
    assert(checkFolder(folder).isWhole);
  },
);

onSmallDisk("a disk that is full loses nothing that was confirmed and heals", async (disk) => {
  const folder = join(disk.folder, "data");
  // Without a limit the broker runs into the wall.
  const start = () => startBroker(["--data-dir", folder, "--disk-free-min", "0"]);
  const confirmed = new Set<number>();
  const killed = await withBroker(start, async ({ url }) => {
    const publisher = await Publisher.open(url);
    const ballast = join(disk.folder, "ballast");
    writeFileSync(ballast, Buffer.alloc(20 * 1024 * 1024));
    const running = publisher.run();
    await until("refused", () => publisher.refused.size > 0);
    const count = publisher.confirmed.size;
    // Somebody else makes room.
    writeFileSync(ballast, "");
    await until("confirmed again", () => publisher.confirmed.size > count);
    await publisher.stop();
    await running;
    for (const number of publisher.confirmed) confirmed.add(number);
  }, "SIGKILL");
  assertMatch(killed.stderr, /ENOSPC/);
  assert(checkFolder(folder).isWhole);
  await withBroker(start, async ({ url }) => {
    const consumed = await drain(url, (numbers) => holdsAll(numbers, confirmed));
    assert(holdsAll(consumed, confirmed));
  });
});

onSmallDisk(
  "a disk that the log has filled takes publishes again once drained to nothing",
  async (disk) => {
    const folder = join(disk.folder, "data");
    const start = () => startBroker(["--data-dir", folder, "--disk-free-min", "0"]);
    const { code } = await withBroker(start, async ({ url }) => {
      // Each leaves another room behind the last batch that the disk took.
      for (const bodyBytes of [50_000, 3_000, 1_000_000, 20_000]) {
        const publisher = await Publisher.open(url, bodyBytes);
        const running = publisher.run();
        await until("refused", () => publisher.refused.size > 0);
        await publisher.stop();
        await running;
        await drainToNothing(url);
        const next = await Publisher.open(url, bodyBytes);
        const goingOn = next.run();
        await until("confirmed again", () => next.confirmed.size > 0);
        await next.stop();
        await goingOn;
        await drainToNothing(url);
      }
    });
    assertEquals(code, 0);
    assert(checkFolder(folder).isWhole);
  },
);
