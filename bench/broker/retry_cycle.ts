// How many messages a second go round a durable retry queue: rejected, delayed, due, delivered again. One
// process, real files, virtual time, so that nothing is waited for. Prints the rate and the bytes that
// one retry adds to the log. Run it with any runtime.
//   deno run -A bench/broker/retry_cycle.ts [--messages=20000] [--seconds=5]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import * as M from "../../src/amqp/methods_gen.ts";
import { restoreBroker } from "../../src/broker/recovery.ts";
import { FolderFileSystem } from "../../src/runtime/file_system.ts";
import { FileStore } from "../../src/store/file_store.ts";
import { longField } from "../../src/amqp/field_value.ts";
import { contentFrames, joined, methodFrame } from "../../test/support/amqp_client.ts";
import { TestNode } from "../../test/support/test_node.ts";
import { open, SinkTransport } from "./in_process.ts";

const DELAY_MS = 10;

function option(name: string, otherwise: number): number {
  const found = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return found === undefined ? otherwise : Number(found.split("=")[1]);
}

function logBytes(fs: FolderFileSystem): number {
  let byteCount = 0;
  for (const name of fs.list("").filter((name) => name.startsWith("log-"))) {
    const handle = fs.open(name, "read");
    byteCount += handle.byteLength;
    handle.close();
  }
  return byteCount;
}

async function main(): Promise<void> {
  const messageCount = option("messages", 20_000);
  const seconds = option("seconds", 5);
  const folder = mkdtempSync(join(tmpdir(), "reprise-retries-"));
  const fs = new FolderFileSystem(folder);
  const store = FileStore.open({
    fs,
    logger: { log: (level, message, fields) => console.log(level, message, fields) },
    isSynced: true,
    freeBytesMin: 0,
    residentBytesMax: 1e9,
    seed: 1,
  });
  const node = new TestNode({ store });
  node.engine.turn(() => restoreBroker(node.broker, store));
  const args = new Map([
    ["x-delayed-retry-min", longField(DELAY_MS)],
    ["x-delayed-retry-multiplier", longField(1)],
    ["x-delivery-limit", longField(2 ** 31 - 1)],
  ]);
  const consumer = open(node, new SinkTransport());
  consumer.received(
    methodFrame(M.QUEUE_DECLARE, 1, { queue: "retry", durable: true, arguments: args }),
  );
  await settled();
  consumer.received(methodFrame(M.BASIC_CONSUME, 1, { queue: "retry" }));
  const one = joined([
    methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "retry" }),
    contentFrames(1, new Uint8Array(16), { deliveryMode: 2 }, 131_064),
  ]);
  const publisher = open(node, new SinkTransport());
  for (let i = 0; i < messageCount; i++) publisher.received(one.slice());
  await settled();
  const { metrics } = node.broker;
  let tag = 0;
  const round = async () => {
    node.loop.settle();
    if (metrics.delivered > tag) {
      tag = metrics.delivered;
      const nack = { deliveryTag: tag, multiple: true, requeue: true };
      consumer.received(methodFrame(M.BASIC_NACK, 1, nack));
    }
    node.advance(1);
    // Syncs and reads end between turns, as they do in a server.
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (let i = 0; i < 200; i++) await round();
  const before = {
    bytes: logBytes(fs),
    retries: metrics.retryRedelivered,
    cpu: process.cpuUsage(),
  };
  const start = performance.now();
  while (performance.now() - start < seconds * 1000) await round();
  const elapsedMs = performance.now() - start;
  const retries = metrics.retryRedelivered - before.retries;
  const { user, system } = process.cpuUsage(before.cpu);
  console.log(
    `${messageCount} messages in flight: ${Math.round((retries * 1000) / elapsedMs)} retries/s, ` +
      `${((user + system) / retries).toFixed(2)} µs of CPU and ` +
      `${((logBytes(fs) - before.bytes) / retries).toFixed(1)} log bytes a retry`,
  );
  store.abandon();
  rmSync(folder, { recursive: true });
  process.exit(0);
}

// Time for a sync to end.
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

await main();
