// Whole-broker benchmark without sockets: bytes of published messages go into the engine, deliveries come
// out of it, in one process. It shows what a message costs the broker itself and how many bytes it
// allocates, whatever the machine's network does. Run it with any runtime.
//   deno run -A bench/broker/pipeline.ts [--ack] [--seconds=3] [--bytes=16]

import { TestNode } from "../../test/support/test_node.ts";
import { contentFrames, joined, methodFrame } from "../../test/support/amqp_client.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import { open, SinkTransport } from "./in_process.ts";

const CHUNK_BYTES = 64 * 1024;

interface Options {
  isAcking: boolean;
  seconds: number;
  bodyBytes: number;
}

function readOptions(args: readonly string[]): Options {
  const value = (name: string, otherwise: number) => {
    const found = args.find((arg) => arg.startsWith(`--${name}=`));
    return found === undefined ? otherwise : Number(found.split("=")[1]);
  };
  return {
    isAcking: args.includes("--ack"),
    seconds: value("seconds", 3),
    bodyBytes: value("bytes", 16),
  };
}

function publishChunk(bodyBytes: number): { bytes: Uint8Array; messageCount: number } {
  const one = joined([
    methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "blast" }),
    contentFrames(1, new Uint8Array(bodyBytes), {}, 131_064),
  ]);
  const messageCount = Math.max(1, Math.floor(CHUNK_BYTES / one.length));
  const all = new Uint8Array(one.length * messageCount);
  for (let i = 0; i < messageCount; i++) all.set(one, i * one.length);
  return { bytes: all, messageCount };
}

function main(options: Options): void {
  const node = new TestNode();
  const consumerTransport = new SinkTransport();
  const consumer = open(node, consumerTransport);
  const publisher = open(node, new SinkTransport());
  consumer.received(methodFrame(M.QUEUE_DECLARE, 1, { queue: "blast" }).slice());
  consumer.received(
    methodFrame(M.BASIC_CONSUME, 1, { queue: "blast", noAck: !options.isAcking }).slice(),
  );

  const { bytes, messageCount } = publishChunk(options.bodyBytes);
  let tag = 0;
  const round = () => {
    // A copy, because the session gives the memory of a large chunk back.
    publisher.received(bytes.slice());
    node.loop.settle();
    tag += messageCount;
    if (!options.isAcking) return;
    consumer.received(methodFrame(M.BASIC_ACK, 1, { deliveryTag: tag, multiple: true }).slice());
    node.loop.settle();
  };
  for (let i = 0; i < 500; i++) round();
  const heapBefore = heapBytes();
  const cpuBefore = cpuMs();
  const start = performance.now();
  let messages = 0;
  while (performance.now() - start < options.seconds * 1000) {
    for (let i = 0; i < 20; i++) round();
    messages += 20 * messageCount;
  }
  const elapsedMs = performance.now() - start;
  // Processor time, not time: what else the machine does is nobody's business here.
  const perMessageNs = ((cpuMs() - cpuBefore) * 1e6) / messages;
  console.log(
    `${options.bodyBytes} B${options.isAcking ? ", acked" : ""}: ${
      perMessageNs.toFixed(0)
    } ns of CPU a ` +
      `message, ${(messages / elapsedMs / 1000).toFixed(2)} M/s, heap grew ` +
      `${((heapBytes() - heapBefore) / messages).toFixed(2)} B a message, ` +
      `${node.broker.metrics.deliveredNoAck + node.broker.metrics.delivered} delivered`,
  );
}

function cpuMs(): number {
  const { process } = globalThis as unknown as {
    process: { cpuUsage(): { user: number; system: number } };
  };
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function heapBytes(): number {
  const { process } = globalThis as unknown as {
    process: { memoryUsage(): { heapUsed: number; external: number } };
  };
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const { process } = globalThis as unknown as { process: { argv: string[] } };
main(readOptions(process.argv.slice(2)));
