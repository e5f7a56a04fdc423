// What was decided in one turn and is carried out in later ones, dead letters above all: it is done for
// everybody once a later frame of the client was answered, and a node that is killed or stopped then
// starts again with it (docs/storage.md "What survives").

import { assert, assertEquals } from "@std/assert";
import * as M from "../../src/amqp/methods_gen.ts";
import { Prng } from "../../src/lib/prng.ts";
import { joined, methodFrame } from "../support/amqp_client.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { DurableNode } from "../support/durable_node.ts";
import type { Crash } from "../support/memory_disk.ts";
import type { Plain } from "../support/test_broker.ts";

const DURABLE = { durable: true };
const KEPT = { properties: { deliveryMode: 2 } };
const DEAD: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
// More than are published in a few turns.
const MANY = 3000;

function channelOf(life: DurableNode): ClientChannel {
  return life.node.connect().channel();
}

function declare(channel: ClientChannel, queues: Record<string, Plain>): void {
  for (const [name, args] of Object.entries(queues)) channel.queue(name, args, DURABLE);
}

function publish(channel: ClientChannel, key: string, count: number, expiration?: string): void {
  const properties = { deliveryMode: 2, ...(expiration === undefined ? {} : { expiration }) };
  for (let i = 1; i <= count; i++) channel.publish(key, `${key}${i}`, { properties });
}

/** Ready messages of each queue. */
function counts(life: DurableNode, ...names: string[]): number[] {
  return names.map((name) => life.node.queue(name).readyCount);
}

/** Consumes so much that all of it is out with the channel. */
function takeAll(channel: ClientChannel, queue: string): number {
  channel.consume(queue);
  return channel.deliveries().at(-1)!.tag;
}

/** What the disk says at the moment in which a later frame of the channel is answered. */
class Killed {
  readonly #life: DurableNode;
  #next: DurableNode | null = null;

  constructor(life: DurableNode, channel: ClientChannel, answer: number) {
    this.#life = life;
    const { client } = channel;
    const arrived = client.arrived.bind(client);
    client.arrived = (incoming) => {
      arrived(incoming);
      if (incoming.key !== answer || this.#next !== null) return;
      throw new KilledError();
    };
  }

  /** Runs what ends in that answer and starts the node anew. */
  after(act: () => void, how: Crash = { kind: "process" }): DurableNode {
    try {
      act();
      assert(this.#life.node.fatalErrors.length > 0);
    } catch (error) {
      if (!(error instanceof KilledError)) throw error;
    }
    return this.#life.restart(0, how);
  }
}

class KilledError extends Error {}

Deno.test("messages that were rejected are dead when a later frame was answered, whatever is left to publish", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  declare(channel, { dead: {}, q: DEAD });
  publish(channel, "q", MANY);
  const last = takeAll(channel, "q");
  const next = new Killed(life, channel, M.BASIC_QOS_OK).after(() => {
    const nack = { deliveryTag: last, multiple: true, requeue: false };
    channel.client.raw(joined([
      methodFrame(M.BASIC_NACK, channel.number, nack),
      methodFrame(M.BASIC_QOS, channel.number, { prefetchCount: 1 }),
    ]));
  });
  assertEquals(counts(next, "dead", "q"), [MANY, 0]);
  const dead = channelOf(next);
  const bodies = Array.from({ length: MANY }, () => dead.get("dead", true)!.body);
  assertEquals(new Set(bodies).size, MANY);
});

for (const how of ["process", "power"] as const) {
  Deno.test(`a commit with more dead letters than a turn publishes is whole after ${how === "power" ? "a loss of power" : "a kill"}`, () => {
    const life = new DurableNode();
    const channel = channelOf(life);
    declare(channel, { dead: {}, q: DEAD, other: {} });
    publish(channel, "q", MANY);
    const last = takeAll(channel, "q");
    channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
    channel.nack(last, false, true);
    channel.publish("other", "m", KEPT);
    const crash: Crash = how === "power" ? { kind: how, prng: new Prng(1) } : { kind: how };
    const killed = new Killed(life, channel, M.TX_COMMIT_OK);
    const next = killed.after(() => channel.send(M.TX_COMMIT), crash);
    assertEquals(counts(next, "dead", "q", "other"), [MANY, 0, 1]);
  });
}

/** A node on whose disk alone many messages of `slow` lie that expire when it starts. */
function withSlowLetters(queues: Record<string, Plain>): DurableNode {
  const first = new DurableNode();
  const channel = channelOf(first);
  declare(channel, { dead: {}, slow: DEAD, ...queues });
  publish(channel, "slow", 40, "1000");
  const life = first.restart();
  life.hold();
  life.node.advance(1000);
  assertEquals(counts(life, "slow"), [0]);
  return life;
}

Deno.test("a reject is published at once although dead letters of another queue have to be read first", () => {
  const life = withSlowLetters({ q: DEAD });
  const channel = channelOf(life);
  publish(channel, "q", 1);
  channel.reject(channel.get("q")!.tag, false);
  assertEquals(counts(life, "dead", "q"), [1, 0]);
  life.release();
  assertEquals(counts(life, "dead", "q"), [41, 0]);
});

Deno.test("dead letters of one queue are read several at a time and published in their order", () => {
  const life = withSlowLetters({});
  assert(life.disk.pendingCount > 8);
  while (life.disk.pendingCount > 0) {
    life.disk.finishAt(life.disk.pendingCount - 1);
    life.node.settle();
  }
  life.release();
  const channel = channelOf(life);
  const bodies = Array.from({ length: 40 }, () => channel.get("dead", true)!.body);
  assertEquals(bodies, Array.from({ length: 40 }, (_, index) => `slow${index + 1}`));
});

Deno.test("a node that stops in good order keeps what was decided and could not be published yet", async () => {
  const first = new DurableNode();
  const before = channelOf(first);
  declare(before, { dead: {}, q: DEAD });
  publish(before, "q", 40);
  const life = first.restart();
  const channel = channelOf(life);
  const last = takeAll(channel, "q");
  withhold(life);
  channel.nack(last, false, true);
  assertEquals(counts(life, "dead", "q"), [0, 0]);
  const closing = life.store.close(life.node.broker.nowMs);
  life.disk.finishAll();
  await closing;
  const next = life.restart();
  assertEquals(counts(next, "dead", "q"), [40, 0]);
});

Deno.test("a node that stops in good order publishes dead letters of transient queues before", async () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  declare(channel, { dead: {} });
  for (const flags of [{ durable: false }, { durable: true, exclusive: true }]) {
    const name = flags.durable ? "exclusive" : "transient";
    channel.queue(name, DEAD, flags);
    publish(channel, name, MANY);
  }
  takeAll(channel, "transient");
  const last = takeAll(channel, "exclusive");
  life.node.isManual = true;
  channel.nack(last, false, true);
  channel.client.wire.drop();
  let isClosed = false;
  life.node.engine.close().then(() => isClosed = true);
  for (let rounds = 0; !isClosed; rounds++) {
    assert(rounds < 1000);
    life.node.loop.step();
    await Promise.resolve();
  }
  assertEquals(counts(life.restart(), "dead"), [2 * MANY]);
});

/** From here on no content is in memory, and none can be read. */
function withhold(life: DurableNode): void {
  life.hold();
  life.store.open = () => false;
}

/** Decides what becomes of messages that are on the disk alone, and is killed before any could be read. */
function decided(args: Plain, decide: (channel: ClientChannel, life: DurableNode) => void): {
  next: DurableNode;
  deaths: string[];
} {
  const first = new DurableNode();
  const before = channelOf(first);
  declare(before, { dead: {}, q: { ...DEAD, ...args } });
  publish(before, "q", 3);
  const life = first.restart();
  const channel = channelOf(life);
  decide(channel, life);
  const next = life.restart();
  const reader = channelOf(next);
  const deaths: string[] = [];
  for (let m = reader.get("dead", true); m !== null; m = reader.get("dead", true)) {
    const reason = m.properties.headers?.get("x-first-death-reason");
    const count = m.properties.headers?.get("x-delivery-count");
    const spent = count?.tag === "l" ? ` ${count.value}` : "";
    deaths.push(`${m.body} ${reason?.tag === "S" ? reason.value : "?"}${spent}`);
  }
  return { next, deaths };
}

Deno.test("messages dropped to make room are dead after a kill", () => {
  const { next, deaths } = decided({ "x-max-length": 3 }, (channel, life) => {
    life.hold();
    publish(channel, "q", 2);
  });
  assertEquals([deaths, counts(next, "q")], [["q1 maxlen", "q2 maxlen"], [3]]);
});

Deno.test("a message past its delivery limit is dead after a kill, with the deliveries it had", () => {
  const { next, deaths } = decided({ "x-delivery-limit": 1 }, (channel, life) => {
    channel.reject(channel.get("q")!.tag, true);
    const { tag } = channel.get("q")!;
    withhold(life);
    channel.reject(tag, true);
  });
  assertEquals([deaths, counts(next, "q")], [["q1 delivery_limit 1"], [2]]);
});

Deno.test("a commit of rejects alone waits for the disk, also while dead letters are being read", () => {
  const life = withSlowLetters({ q: DEAD });
  const channel = channelOf(life);
  publish(channel, "q", 2);
  life.release();
  const tags = [1, 2].map(() => channel.get("q")!.tag);
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  const { open } = life.store;
  for (const tag of tags) {
    withhold(life);
    channel.reject(tag, false);
    channel.send(M.TX_COMMIT);
    assertEquals(channel.client.take(M.TX_COMMIT_OK, channel.number), undefined);
    life.store.open = open;
    life.release();
    channel.client.expect(M.TX_COMMIT_OK, channel.number);
  }
});

Deno.test("what was rejected before a purge is dead after a kill, and the rest is purged", () => {
  const { next, deaths } = decided({}, (channel, life) => {
    const { tag } = channel.get("q")!;
    withhold(life);
    channel.reject(tag, false);
    channel.rpc(M.QUEUE_PURGE, { queue: "q" }, M.QUEUE_PURGE_OK);
  });
  assertEquals([deaths, counts(next, "q")], [["q1 rejected"], [0]]);
});

Deno.test("what was rejected before its queue was deleted is dead after a kill, and the queue is gone", () => {
  const { next, deaths } = decided({}, (channel, life) => {
    const { tag } = channel.get("q")!;
    withhold(life);
    channel.reject(tag, false);
    channel.send(M.QUEUE_DELETE, { queue: "q" });
    life.disk.finishAll();
    life.node.settle();
    channel.client.expect(M.QUEUE_DELETE_OK, channel.number);
  });
  const { queues } = next.node.broker.vhosts.get("/")!;
  assertEquals([deaths, [...queues.keys()]], [["q1 rejected"], ["dead"]]);
  // And nothing is left of it.
  const later = next.restart();
  assertEquals(counts(later, "dead"), [0]);
  assertEquals(later.store.recovered.definitions.deleted.size, 0);
});

Deno.test("what a full queue refused is dead-lettered after a kill when it could not be at once", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  const full = { "x-max-length": 1, "x-overflow": "reject-publish-dlx" };
  declare(channel, { dead: {}, q: { ...DEAD, ...full } });
  channel.confirmSelect();
  const frames = Array.from(
    { length: 600 },
    (_, index) => channel.publishFrames("q", `m${index}`, KEPT),
  );
  const next = new Killed(life, channel, M.BASIC_NACK).after(() =>
    channel.client.raw(joined(frames))
  );
  assertEquals(counts(next, "dead", "q"), [599, 1]);
});

Deno.test("dead letters that a full queue passes on are in its target after a kill", () => {
  const life = new DurableNode();
  const channel = channelOf(life);
  const full = { "x-max-length": 0, "x-overflow": "reject-publish-dlx" };
  const intoFull = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "full" };
  declare(channel, { dead: {}, full: { ...DEAD, ...full }, q: intoFull });
  publish(channel, "q", MANY);
  const last = takeAll(channel, "q");
  channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  channel.nack(last, false, true);
  const killed = new Killed(life, channel, M.TX_COMMIT_OK);
  const next = killed.after(() => channel.send(M.TX_COMMIT));
  assertEquals(counts(next, "dead", "full", "q"), [MANY, 0, 0]);
});
