// Settlements of more deliveries than a turn takes: others are served meanwhile, order and counts hold,
// and whoever ends in the middle loses nothing.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import type { ClientChannel } from "../../support/client_channel.ts";
import { DurableNode } from "../../support/durable_node.ts";
import { MemoryDisk } from "../../support/memory_disk.ts";
import { START_MS, TestNode } from "../../support/test_node.ts";
import type { Plain } from "../../support/test_broker.ts";

const PER_TURN = 16;
const MANY = 200;
const LIMITS = { settledPerTurn: PER_TURN };
const CLOSE = { replyCode: 200, replyText: "", classId: 0, methodId: 0 };

interface Scene {
  node: TestNode;
  /** Has `MANY` messages of `q` out, whose bodies are "1" to "200". */
  holder: ClientChannel;
  other: ClientChannel;
}

/** From here on turns are run by hand. */
function scene(args: Plain = {}, node = new TestNode({ limits: LIMITS })): Scene {
  const other = node.connect().channel();
  const holder = node.connect().channel();
  other.queue("q", args, { durable: true });
  other.queue("dead", {}, { durable: true });
  const kept = { properties: { deliveryMode: 2 } };
  for (let i = 1; i <= MANY; i++) other.publish("q", String(i), kept);
  const tag = holder.consume("q");
  holder.cancel(tag);
  assertEquals(holder.deliveries().length, MANY);
  node.isManual = true;
  return { node, holder, other };
}

function rise(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i));
}

/** Runs rounds until something has happened and says how many there were. */
function roundsUntil(node: TestNode, isDone: () => boolean): number {
  for (let rounds = 0; rounds < 1000; rounds++) {
    if (isDone()) return rounds;
    node.loop.step();
    node.settle();
  }
  throw new Error("it does not happen");
}

function bodiesOf(channel: ClientChannel): string[] {
  return channel.deliveries().map(({ body }) => body);
}

function everything(node: TestNode): void {
  node.isManual = false;
  node.settle();
}

const DEAD: Plain = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
const RETRIES: Plain = { "x-delayed-retry-min": 60_000 };

type Settle = (channel: ClientChannel) => void;
const KINDS: readonly [string, Plain, Settle, (node: TestNode) => number][] = [
  ["ack", {}, (channel) => channel.ack(0, true), () => MANY],
  ["requeue", {}, (channel) => channel.nack(0, true, true), (node) => node.queue("q").readyCount],
  ["delay", RETRIES, (channel) => channel.nack(0, true, true), (node) => {
    return node.queue("q").delayedCount;
  }],
  ["dead-letter", DEAD, (channel) => channel.nack(0, false, true), (node) => {
    return node.queue("dead").readyCount;
  }],
  ["recover", {}, (channel) => channel.send(M.BASIC_RECOVER_ASYNC, { requeue: true }), (node) => {
    return node.queue("q").readyCount;
  }],
  ["close", {}, (channel) => channel.send(M.CHANNEL_CLOSE, CLOSE), (node) => {
    return node.queue("q").readyCount;
  }],
  ["loss of the client", {}, (channel) => {
    (channel.client as unknown as { wire: { drop(): void } }).wire.drop();
  }, (node) => node.queue("q").readyCount],
];

for (const [name, args, settle, count] of KINDS) {
  Deno.test(`many deliveries settled by ${name} take several turns, in which others are served`, () => {
    const { node, holder, other } = scene(args);
    const queue = node.queue("q");
    settle(holder);
    let answers = 0;
    let most = 0;
    let before = queue.unackedCount;
    const rounds = roundsUntil(node, () => {
      most = Math.max(most, before - queue.unackedCount);
      before = queue.unackedCount;
      if (queue.unackedCount === 0) return true;
      other.qos(0);
      answers++;
      return false;
    });
    // The others' turns go on with it as well, so there are two or more in a round.
    assertGreater(rounds, 3);
    assertGreater(answers, 3);
    assertLess(most, 4 * PER_TURN + 1);
    everything(node);
    assertEquals(count(node), MANY);
    assertEquals(queue.unackedCount, 0);
  });
}

Deno.test("what comes back in pieces is delivered in order, and before anything that is ready", () => {
  const { node, holder, other } = scene();
  for (let i = MANY + 1; i <= MANY + 20; i++) other.publish("q", String(i));
  holder.nack(0, true, true);
  other.consume("q");
  node.loop.step();
  assertEquals(bodiesOf(other), []);
  everything(node);
  assertEquals(bodiesOf(other), rise(1, MANY + 20));
});

Deno.test("a get waits while messages come back, and takes the first of them", () => {
  const { node, holder, other } = scene();
  other.publish("q", "ready");
  holder.send(M.CHANNEL_CLOSE, CLOSE);
  other.send(M.BASIC_GET, { queue: "q", noAck: true });
  assertEquals(other.client.take(M.BASIC_GET_OK, other.number), undefined);
  everything(node);
  const { body } = other.client.expect(M.BASIC_GET_OK, other.number);
  assertEquals(new TextDecoder().decode(body), "1");
});

Deno.test("close-ok of channel and connection come when everything is back", () => {
  for (const isConnection of [false, true]) {
    const { node, holder } = scene();
    const { client } = holder;
    const number = isConnection ? 0 : holder.number;
    const answer = isConnection ? M.CONNECTION_CLOSE_OK : M.CHANNEL_CLOSE_OK;
    client.send(isConnection ? M.CONNECTION_CLOSE : M.CHANNEL_CLOSE, number, CLOSE);
    assertGreater(node.queue("q").unackedCount, 0);
    const isAnswered = () => client.inbox.some(({ key }) => key === answer);
    roundsUntil(node, isAnswered);
    assertEquals(node.queue("q").readyCount, MANY);
  }
});

Deno.test("frames behind a long settlement wait for it", () => {
  const { node, holder } = scene();
  holder.ack(0, true);
  holder.send(M.BASIC_QOS, { prefetchSize: 0, prefetchCount: 1, global: false });
  holder.send(M.BASIC_RECOVER, { requeue: true });
  const isAnswered = () => holder.client.inbox.some(({ key }) => key === M.BASIC_QOS_OK);
  assert(!isAnswered());
  roundsUntil(node, isAnswered);
  assertEquals(node.queue("q").unackedCount, 0);
  everything(node);
  assertEquals(node.queue("q").readyCount, 0);
});

Deno.test("a settlement up to a tag leaves what is behind the tag", () => {
  const { node, holder, other } = scene();
  holder.nack(150, true, true);
  everything(node);
  assertEquals([node.queue("q").readyCount, node.queue("q").unackedCount], [150, 50]);
  holder.ack(MANY, true);
  other.consume("q");
  assertEquals(bodiesOf(other), rise(1, 150));
  assertEquals(node.queue("q").unackedCount, 150);
});

Deno.test("a client that is lost while it acknowledges many gets nothing of them back", () => {
  const { node, holder, other } = scene();
  holder.ack(150, true);
  node.loop.step();
  assertGreater(node.queue("q").unackedCount, 50);
  (holder.client as unknown as { wire: { drop(): void } }).wire.drop();
  everything(node);
  other.consume("q");
  assertEquals(bodiesOf(other), rise(151, MANY));
});

Deno.test("an exclusive queue goes when what its connection had is back", () => {
  const { node, holder } = scene();
  everything(node);
  holder.queue("own", {}, { exclusive: true });
  node.isManual = true;
  holder.client.send(M.CONNECTION_CLOSE, 0, CLOSE);
  roundsUntil(node, () => holder.client.inbox.some(({ key }) => key === M.CONNECTION_CLOSE_OK));
  assertEquals(node.broker.vhosts.get("/")!.queues.get("own"), undefined);
  assertEquals(node.queue("q").readyCount, MANY);
});

Deno.test("messages that are rejected in pieces keep their order in their delay", () => {
  const { node, holder, other } = scene(RETRIES);
  holder.nack(0, true, true);
  everything(node);
  other.consume("q");
  node.advance(60_000);
  assertEquals(bodiesOf(other), rise(1, MANY));
});

Deno.test("a queue can be deleted while messages come back to it", () => {
  const { node, holder, other } = scene();
  holder.nack(0, true, true);
  other.send(M.QUEUE_DELETE, { queue: "q" });
  everything(node);
  other.client.expect(M.QUEUE_DELETE_OK, other.number);
  holder.qos(1);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

Deno.test("the end of a broker waits for what is settled", async () => {
  const { node, holder, other } = scene();
  holder.ack(150, true);
  const closed = node.engine.close();
  for (const { client } of [holder, other]) {
    (client as unknown as { wire: { drop(): void } }).wire.drop();
  }
  assertGreater(node.queue("q").unackedCount, 0);
  everything(node);
  await closed;
  assertEquals(node.queue("q").readyCount, 50);
});

Deno.test("a node that is killed while many are settled has each of them once", () => {
  for (const [name, args, settle] of KINDS) {
    for (let rounds = 0; rounds < 14; rounds += 2) {
      const life = new DurableNode(new MemoryDisk(), START_MS, LIMITS);
      const { node, holder } = scene(args, life.node);
      settle(holder);
      for (let i = 0; i < rounds; i++) node.loop.step();
      const left = node.queue("q").unackedCount;
      const next = life.restart().node;
      const found = next.queue("q").readyCount + next.queue("q").delayedCount +
        next.queue("dead").readyCount;
      assertEquals(found, name === "ack" ? left : MANY, `${name} after ${rounds}`);
      if (name === "dead-letter") assertEquals(next.queue("q").readyCount, left);
    }
  }
});

Deno.test("a dead letter that was rejected in pieces survives once a later frame is answered", () => {
  const life = new DurableNode(new MemoryDisk(), START_MS, LIMITS);
  const { node, holder } = scene(DEAD, life.node);
  holder.nack(0, false, true);
  holder.send(M.BASIC_QOS, { prefetchSize: 0, prefetchCount: 1, global: false });
  roundsUntil(node, () => holder.client.inbox.some(({ key }) => key === M.BASIC_QOS_OK));
  const next = life.restart().node;
  assertEquals([next.queue("q").readyCount, next.queue("dead").readyCount], [0, MANY]);
});

Deno.test("many channels that have little each give it back over several turns", () => {
  const node = new TestNode({ limits: LIMITS });
  const other = node.connect().channel();
  other.queue("q");
  for (let i = 1; i <= MANY; i++) other.publish("q", String(i));
  const client = node.connect();
  for (let i = 0; i < 50; i++) {
    const channel = client.channel();
    channel.qos(4);
    channel.consume("q");
  }
  const queue = node.queue("q");
  assertEquals(queue.unackedCount, MANY);
  node.isManual = true;
  client.wire.drop();
  assertGreater(queue.unackedCount, MANY - 2 * PER_TURN);
  everything(node);
  other.consume("q");
  assertEquals(bodiesOf(other), rise(1, MANY));
});
