// The broker beside a fixed piece of work in the same process: how many times longer the reference
// takes for a message than the whole broker does, with publishing, routing, storing and delivering.
// Prints the two times of each round as JSON. Started by measure.ts in a process of its own.

import process from "node:process";
import * as M from "../../src/amqp/methods_gen.ts";
import { contentFrames, joined, methodFrame } from "../../test/support/amqp_client.ts";
import { TestNode } from "../../test/support/test_node.ts";
import { open, SinkTransport } from "../broker/in_process.ts";

const rounds = 7;
const roundMs = 120;
const chunkMessages = 800;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** CPU time per message of work that handles one chunk a call. */
function nsPerMessage(work: () => void, forMs: number): number {
  const beganAt = cpuMs();
  let chunks = 0;
  do {
    for (let turn = 0; turn < 4; turn++) work();
    chunks += 4;
  } while (cpuMs() - beganAt < forMs);
  return ((cpuMs() - beganAt) * 1e6) / (chunks * chunkMessages);
}

function publications(): Uint8Array {
  const one = joined([
    methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "short" }),
    contentFrames(1, new Uint8Array(16), {}, 131_064),
  ]);
  const all = new Uint8Array(one.length * chunkMessages);
  for (let at = 0; at < chunkMessages; at++) all.set(one, at * one.length);
  return all;
}

function brokerWork(bytes: Uint8Array): () => void {
  const node = new TestNode();
  const consumer = open(node, new SinkTransport());
  const publisher = open(node, new SinkTransport());
  consumer.received(methodFrame(M.QUEUE_DECLARE, 1, { queue: "short" }).slice());
  consumer.received(methodFrame(M.BASIC_CONSUME, 1, { queue: "short", noAck: true }).slice());
  return () => {
    publisher.received(bytes);
    node.loop.settle();
  };
}

/** Hashes, looks up and copies what a message has for bytes; must stay as it is to compare with. */
function referenceWork(bytes: Uint8Array): () => void {
  const out = new Uint8Array(bytes.length);
  const seen = new Map<number, number>();
  const length = bytes.length / chunkMessages;
  return () => {
    for (let from = 0; from < bytes.length; from += length) {
      let hash = 0x811c9dc5;
      for (let at = from; at < from + length; at++) {
        hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
        out[at] = bytes[at]!;
      }
      seen.set(hash & 1023, (seen.get(hash & 1023) ?? 0) + 1);
    }
  };
}

const bytes = publications();
const [broker, reference] = [brokerWork(bytes), referenceWork(bytes)];
nsPerMessage(broker, 500);
nsPerMessage(reference, 200);
const ours: number[] = [];
const theirs: number[] = [];
for (let round = 0; round < rounds; round++) {
  ours.push(nsPerMessage(broker, roundMs));
  theirs.push(nsPerMessage(reference, roundMs));
}
console.log(JSON.stringify({ ours, theirs }));
