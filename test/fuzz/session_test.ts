// Fuzzing of whole connections: random bytes, random frames and mutated valid streams, split anywhere,
// and clients that drip. The offender gets an AMQP close or is dropped, nothing hangs or leaks, and a
// well-behaved client beside it never notices. The seed of a failing round is in its message.

import { assertEquals, assertLessOrEqual } from "@std/assert";
import { FRAME_END, PROTOCOL_HEADER } from "../../src/amqp/frame.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import { Prng } from "../../src/lib/prng.ts";
import { encodeText } from "../../src/lib/text.ts";
import type { Incoming } from "../support/amqp_client.ts";
import { AmqpClient, joined, methodFrame } from "../support/amqp_client.ts";
import { ClientChannel } from "../support/client_channel.ts";
import { table } from "../support/test_broker.ts";
import { TestNode } from "../support/test_node.ts";

const ROUNDS = 300;
const MEMORY_SLACK_BYTES = 8 * 1024 * 1024;

/** A client that takes whatever comes and keeps nothing. */
class DeafClient extends AmqpClient {
  override received(bytes: Uint8Array): void {
    this.receivedBytes += bytes.length;
  }

  override arrived(_incoming: Incoming): void {}
}

/** A node, a well-behaved client on it, and a check that both are well. */
class Bench {
  readonly node = new TestNode({ limits: { messageBytesMax: 100_000, queueCountMax: 2000 } });
  readonly #witness: ClientChannel;
  readonly #startBytes: number;

  constructor() {
    this.#witness = this.node.connect().channel();
    this.#witness.queue("witness");
    this.#startBytes = this.node.broker.memoryBytes;
  }

  /** Feeds `bytes` to a new connection in random pieces. */
  feed(bytes: Uint8Array, prng: Prng): void {
    const client = this.node.attach(new DeafClient());
    const pieceMax = 1 + prng.nextBelow(prng.nextBelow(2) === 0 ? 8 : 4000);
    for (let at = 0; at < bytes.length && !client.isClosed;) {
      const next = at + 1 + prng.nextBelow(pieceMax);
      client.raw(bytes.subarray(at, next));
      at = next;
    }
    this.node.advance(prng.nextBelow(100));
    this.check();
    if (prng.nextBelow(2) === 0) client.wire.drop();
    else this.node.advance(60_000);
    client.wire.drop();
    this.check();
  }

  /** The node answers, and nothing of others is left. */
  check(): void {
    this.#witness.publish("witness", "hello");
    assertEquals(this.#witness.get("witness", true)?.body, "hello");
    assertEquals(this.node.fatalErrors, []);
  }

  /** After all offenders have gone. */
  checkNothingLeft(): void {
    const { broker, engine } = this.node;
    assertEquals(engine.connectionCount, 1);
    assertEquals(broker.extraMemoryBytes, 0);
    const vhost = broker.vhosts.get("/")!;
    engine.turn(() => {
      for (const queue of [...vhost.queues.values()]) vhost.removeQueue(queue);
    });
    this.node.advance(1000);
    assertEquals(broker.store.liveMessageCount, 0);
    assertLessOrEqual(broker.memoryBytes, this.#startBytes + MEMORY_SLACK_BYTES);
    for (const { level, fields } of this.node.logs) {
      if (level === "error") throw new Error(`an error was logged: ${JSON.stringify(fields)}`);
    }
  }
}

function forEachSeed(act: (bench: Bench, prng: Prng) => void): void {
  const bench = new Bench();
  for (let seed = 1; seed <= ROUNDS; seed++) {
    try {
      act(bench, new Prng(seed));
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.stack : error}`);
    }
  }
  bench.checkNothingLeft();
}

function randomBytes(byteCount: number, prng: Prng): Uint8Array {
  return Uint8Array.from({ length: byteCount }, () => prng.nextBelow(256));
}

const LOGIN = joined([
  PROTOCOL_HEADER,
  methodFrame(M.CONNECTION_START_OK, 0, { response: encodeText("\0guest\0guest") }),
  methodFrame(M.CONNECTION_TUNE_OK, 0, { channelMax: 2047, frameMax: 131_072, heartbeat: 0 }),
  methodFrame(M.CONNECTION_OPEN, 0, { virtualHost: "/" }),
  methodFrame(M.CHANNEL_OPEN, 1),
]);

/** A client's stream that does a little of everything. */
function validStream(): Uint8Array {
  const channel = new ClientChannel(new AmqpClient(), 1);
  const method = (key: number, args: object = {}) => methodFrame(key, 1, args);
  const properties = {
    headers: table({ CC: { tag: "A", value: [] }, "x-delivery-count": 3, name: "value" }),
    deliveryMode: 2,
    expiration: "60000",
    userId: "guest",
  };
  return joined([
    LOGIN,
    method(M.QUEUE_DECLARE, {
      queue: "f1",
      arguments: table({ "x-delayed-retry-min": 10, "x-max-length": 100 }),
    }),
    method(M.QUEUE_DECLARE, { queue: "f2", exclusive: true }),
    method(M.EXCHANGE_DECLARE, { exchange: "fx", type: "topic" }),
    method(M.QUEUE_BIND, { queue: "f1", exchange: "fx", routingKey: "a.#" }),
    method(M.CONFIRM_SELECT, { nowait: false }),
    channel.publishFrames("f1", "body", { properties, mandatory: true }),
    channel.publishFrames("a.b", new Uint8Array(5000), { exchange: "fx" }),
    channel.publishFrames("f2", ""),
    method(M.BASIC_QOS, { prefetchSize: 0, prefetchCount: 2, global: false }),
    method(M.BASIC_CONSUME, { queue: "f1", consumerTag: "c" }),
    method(M.BASIC_REJECT, { deliveryTag: 1, requeue: true }),
    method(M.BASIC_NACK, { deliveryTag: 2, multiple: false, requeue: false }),
    method(M.BASIC_GET, { queue: "f2", noAck: false }),
    method(M.BASIC_ACK, { deliveryTag: 0, multiple: true }),
    methodFrame(M.CHANNEL_OPEN, 2),
    methodFrame(M.TX_SELECT, 2),
    new ClientChannel(new AmqpClient(), 2).publishFrames("f1", "tx"),
    methodFrame(M.TX_COMMIT, 2),
    method(M.BASIC_CANCEL, { consumerTag: "c", nowait: false }),
    method(M.QUEUE_PURGE, { queue: "f1", nowait: false }),
  ]);
}

function mutated(bytes: Uint8Array, prng: Prng): Uint8Array {
  let out: Uint8Array = bytes.slice();
  for (let count = 1 + prng.nextBelow(4); count > 0; count--) {
    const at = LOGIN.length * prng.nextBelow(2) + prng.nextBelow(out.length - LOGIN.length);
    const some = prng.nextBelow(12);
    switch (prng.nextBelow(5)) {
      case 0:
        out[at]! ^= 1 << prng.nextBelow(8);
        break;
      case 1:
        out[at] = prng.nextBelow(256);
        break;
      case 2:
        out = joined([out.subarray(0, at), out.subarray(at + some)]);
        break;
      case 3:
        out = joined([out.subarray(0, at), randomBytes(some, prng), out.subarray(at)]);
        break;
      default:
        out = joined([out.subarray(0, at + some), out.subarray(at)]);
    }
  }
  return prng.nextBelow(4) === 0 ? out.subarray(0, prng.nextBelow(out.length)) : out;
}

Deno.test("engine survives random bytes from strangers", () => {
  forEachSeed((bench, prng) => {
    const greeting = prng.nextBelow(2) === 0 ? PROTOCOL_HEADER : new Uint8Array(0);
    bench.feed(joined([greeting, randomBytes(prng.nextBelow(300), prng)]), prng);
  });
});

Deno.test("engine survives random bytes from clients that have logged in", () => {
  forEachSeed((bench, prng) => {
    bench.feed(joined([LOGIN, randomBytes(prng.nextBelow(500), prng)]), prng);
  });
});

const KEYS = [...M.METHODS.keys()];

function randomFrame(prng: Prng): Uint8Array {
  const out = new ByteWriter();
  const types = [1, 1, 1, 1, 2, 3, 8];
  const type = types[prng.nextBelow(types.length)]!;
  const payload = new ByteWriter();
  if (type === 1) payload.u32(KEYS[prng.nextBelow(KEYS.length)]!);
  if (type === 2) payload.u32(0x003c_0000);
  payload.all(randomBytes(prng.nextBelow(40), prng));
  out.u8(type);
  out.u16(prng.nextBelow(8) === 0 ? prng.nextBelow(65_536) : prng.nextBelow(3));
  out.u32(payload.byteCount);
  out.range(payload.bytes, 0, payload.byteCount);
  out.u8(FRAME_END);
  return out.copy();
}

Deno.test("engine survives well-formed frames with random contents", () => {
  forEachSeed((bench, prng) => {
    const frames = Array.from({ length: 1 + prng.nextBelow(10) }, () => randomFrame(prng));
    bench.feed(joined([LOGIN, ...frames]), prng);
  });
});

Deno.test("engine survives valid streams with a few bytes changed", () => {
  const valid = validStream();
  forEachSeed((bench, prng) => bench.feed(mutated(valid, prng), prng));
});

Deno.test("engine survives valid methods in any order", () => {
  const methods = [...M.METHODS.values()].filter(({ name }) => !name.startsWith("connection."));
  forEachSeed((bench, prng) => {
    const frames = Array.from({ length: 20 }, () => {
      const { key, decode } = methods[prng.nextBelow(methods.length)]!;
      return methodFrame(key, 1 + prng.nextBelow(2), zeroArguments(decode, prng));
    });
    bench.feed(joined([LOGIN, methodFrame(M.CHANNEL_OPEN, 2), ...frames]), prng);
  });
});

// Arguments that decode from zeros, strings empty and tables without entries, with a small number.
function zeroArguments(
  decode: (b: Uint8Array, s: number, e: number) => object,
  prng: Prng,
): object {
  for (let byteCount = 0; byteCount < 64; byteCount++) {
    try {
      const args = decode(new Uint8Array(byteCount), 0, byteCount) as Record<string, unknown>;
      if ("deliveryTag" in args) args["deliveryTag"] = prng.nextBelow(3);
      if ("queue" in args) args["queue"] = "f1";
      return args;
    } catch {
      // Another size fits.
    }
  }
  return {};
}

Deno.test("engine drops strangers that drip and never finish their handshake", () => {
  const bench = new Bench();
  const drips = Array.from({ length: 20 }, () => bench.node.attach(new DeafClient()));
  for (let at = 0; at < 40; at++) {
    for (const drip of drips) drip.raw(LOGIN.subarray(at, at + 1));
    bench.node.advance(400);
    bench.check();
  }
  assertEquals(drips.filter(({ isClosed }) => !isClosed).length, 0);
  bench.checkNothingLeft();
});

Deno.test("engine serves clients that drip a whole session byte by byte", () => {
  const bench = new Bench();
  const valid = validStream();
  const client = bench.node.attach(new DeafClient());
  for (let at = 0; at < valid.length; at++) client.raw(valid.subarray(at, at + 1));
  assertEquals(client.isClosed, false);
  assertEquals(bench.node.engine.connectionCount, 2);
  bench.check();
  client.wire.drop();
  bench.checkNothingLeft();
});

Deno.test("ten thousand connections come and go and leave nothing behind", () => {
  const bench = new Bench();
  for (let count = 0; count < 10_000; count++) {
    const client = bench.node.attach(new DeafClient());
    client.raw(count % 3 === 0 ? LOGIN.subarray(0, count % LOGIN.length) : LOGIN);
    client.wire.drop();
  }
  bench.check();
  bench.checkNothingLeft();
});
