// Content headers and frame_max over the wire: a client is never sent a header that is larger than the
// frames it has agreed to, and messages that are too large for some hold up nobody else.

import { assert, assertEquals } from "@std/assert";
import { textField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { writeProperties } from "../../src/amqp/properties.ts";
import { setAsideCount } from "../../src/broker/queue/put_apart.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { DurableNode } from "../support/durable_node.ts";
import { START_MS, TestNode } from "../support/test_node.ts";

const FIXED_BYTES = 12;
const OVERHEAD = 8;

function filled(byteCount: number): Properties {
  return { headers: new Map([["fill", textField("x".repeat(byteCount))]]) };
}

/** Properties with which the content header frame has exactly so many bytes. */
function framed(frameBytes: number): Properties {
  const out = new ByteWriter();
  writeProperties(out, filled(0));
  return filled(frameBytes - OVERHEAD - FIXED_BYTES - out.byteCount);
}

const BIG = { properties: framed(20_029) };
const MIDDLE = { properties: framed(6_000) };

function clientOf(node: TestNode, frameMax = 131_072): ClientChannel {
  return node.connect({ frameMax }).channel();
}

function bodies(channel: ClientChannel): string[] {
  return channel.deliveries().map(({ body }) => body);
}

function setAside(node: TestNode): [number, number] {
  const queue = node.queue("q");
  return [setAsideCount(queue), queue.readyCount];
}

Deno.test("a message whose header does not fit a consumer is set aside and holds up no other", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q");
  const small = clientOf(node, 4096);
  small.consume("q");
  publisher.publish("q", "big", BIG);
  for (const body of ["1", "2"]) publisher.publish("q", body);
  assertEquals(bodies(small), ["1", "2"]);
  assertEquals(setAside(node), [1, 1]);
  for (let i = 0; i < 5; i++) publisher.publish("q", "big too", BIG);
  const lines = node.logs.filter(({ message }) => message.includes("set aside"));
  assertEquals(lines.map(({ level, fields }) => [level, fields]), [["warn", {
    queue: "q",
    vhost: "/",
    headerFrameBytes: 20_029,
    largestFrameMax: 4096,
  }]]);
  node.advance(1000);
  const large = clientOf(node);
  large.consume("q", { noAck: true });
  const [first, ...others] = large.deliveries();
  assertEquals([first!.body, first!.redelivered, others.length], ["big", false, 5]);
  assertEquals(setAside(node), [0, 0]);
  assertEquals(Math.max(...small.client.headerFrameBytes) < 4096, true);
  assertEquals(node.broker.apartBytes, 0);
});

Deno.test("a message that fits only a busy consumer waits for it, in its order, behind nobody", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q");
  const small = clientOf(node, 4096);
  const large = clientOf(node);
  large.qos(1);
  large.consume("q");
  publisher.publish("q", "a", BIG);
  small.consume("q");
  for (const body of ["b", "c"]) publisher.publish("q", body, BIG);
  for (const body of ["1", "2"]) publisher.publish("q", body);
  assertEquals([bodies(large), bodies(small)], [["a"], ["1", "2"]]);
  assertEquals(setAside(node), [0, 2]);
  large.nack(1, true);
  assertEquals(bodies(large), ["a"]);
  for (const tag of [2, 3]) large.ack(tag);
  assertEquals(bodies(large), ["b", "c"]);
});

Deno.test("messages of several sizes go to whoever takes them, also when somebody comes in between", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q");
  const small = clientOf(node, 4096);
  small.consume("q");
  const sent: [string, { properties: Properties } | undefined][] = [
    ["big 1", BIG],
    ["middle 1", MIDDLE],
    ["small", undefined],
    ["big 2", BIG],
    ["middle 2", MIDDLE],
  ];
  for (const [body, options] of sent) publisher.publish("q", body, options);
  assertEquals(bodies(small), ["small"]);
  assertEquals(setAside(node), [4, 4]);
  const middle = clientOf(node, 6_000);
  middle.consume("q");
  assertEquals(bodies(middle), ["middle 1", "middle 2"]);
  assertEquals(setAside(node), [2, 2]);
  middle.client.close();
  const large = clientOf(node);
  large.consume("q");
  assertEquals(bodies(large), ["big 1", "middle 1", "big 2", "middle 2"]);
});

Deno.test("a header frame as large as frame_max is delivered, one byte more is not", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q");
  const small = clientOf(node, 4096);
  small.consume("q");
  publisher.publish("q", "fits", { properties: framed(4096) });
  publisher.publish("q", "does not", { properties: framed(4097) });
  assertEquals(bodies(small), ["fits"]);
  assertEquals(small.client.headerFrameBytes, [4096]);
});

Deno.test("blind copies that are not delivered do not count toward the size of a header", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q");
  const small = clientOf(node, 4096);
  small.consume("q");
  const { headers } = framed(4000);
  const keys = Array.from({ length: 100 }, (_, index) => textField(`${index}`));
  const properties = { headers: new Map(headers).set("BCC", { tag: "A", value: keys }) };
  publisher.publish("q", "fits", { properties });
  assertEquals(bodies(small), ["fits"]);
});

Deno.test("basic.get of a message whose header does not fit is refused with 406 and spends nothing", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q", { "x-delivery-limit": 1 });
  publisher.publish("q", "big", BIG);
  publisher.publish("q", "small");
  const { client } = clientOf(node, 4096);
  const refused = (number: number) => {
    const channel = client.channel(number);
    channel.send(M.BASIC_GET, { queue: "q", noAck: false });
    return channel.takeClose();
  };
  assertEquals(refused(2), {
    replyCode: 406,
    replyText: "PRECONDITION_FAILED - a header frame of 20029 bytes is larger than the negotiated" +
      " frame_max (4096): a message of queue 'q' in vhost '/' cannot be sent",
    classId: 60,
    methodId: 70,
  });
  assertEquals(setAside(node), [1, 2]);
  assertEquals(client.channel(3).get("q")?.body, "small");
  assertEquals(refused(4).replyCode, 406);
  for (let i = 0; i < 3; i++) assertEquals(refused(5).replyCode, 406);
  const big = publisher.get("q")!;
  assertEquals([big.body, big.redelivered], ["big", false]);
  assertEquals(big.properties.headers!.has("x-delivery-count"), false);
  assertEquals([node.broker.metrics.got, publisher.get("q")], [2, null]);
});

Deno.test("a delivery count that makes a header too large does not break its consumer", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q", { "x-delayed-retry-min": 100 });
  const small = clientOf(node, 4096);
  small.consume("q");
  publisher.publish("q", "x", { properties: framed(4080) });
  small.reject(small.deliveries()[0]!.tag, true);
  node.advance(200);
  assertEquals([bodies(small), setAside(node)], [[], [1, 1]]);
  const large = clientOf(node);
  large.consume("q");
  const [message] = large.deliveries();
  assertEquals([message!.body, message!.redelivered], ["x", true]);
  assertEquals(message!.properties.headers!.get("x-delivery-count"), { tag: "l", value: 1 });
});

Deno.test("messages that are set aside expire, are dropped as the oldest and are purged", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  const dlx = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  publisher.queue("dead");
  publisher.queue("q", { ...dlx, "x-message-ttl": 1000, "x-max-length": 3 });
  const small = clientOf(node, 4096);
  small.qos(1);
  small.consume("q");
  publisher.publish("q", "out");
  for (const body of ["1", "2", "3", "4"]) publisher.publish("q", body, BIG);
  publisher.publish("q", "small");
  const dead = () => [publisher.get("dead", true), publisher.get("dead", true)];
  assertEquals(dead().map((one) => one?.body), ["1", "2"]);
  small.ack(1);
  assertEquals(bodies(small), ["out", "small"]);
  assertEquals(setAside(node), [2, 2]);
  node.advance(1000);
  assertEquals(dead().map((one) => one?.body), ["3", "4"]);
  assertEquals(setAside(node), [0, 0]);
  small.ack(2);
  for (const body of ["5", "6"]) publisher.publish("q", body, BIG);
  assertEquals(setAside(node), [2, 2]);
  const { messageCount } = publisher.rpc(M.QUEUE_PURGE, { queue: "q" }, M.QUEUE_PURGE_OK).args;
  assertEquals([messageCount, ...setAside(node)], [2, 0, 0]);
  node.advance(1);
  assertEquals([node.broker.apartBytes, node.broker.store.liveMessageCount], [0, 0]);
});

Deno.test("messages that are set aside survive a restart and go with their queue", () => {
  const life = new DurableNode();
  const channel = life.node.connect().channel();
  channel.queue("q", {}, { durable: true });
  const small = clientOf(life.node, 4096);
  small.consume("q");
  for (const body of ["1", "2"]) {
    channel.publish("q", body, { properties: { ...BIG.properties, deliveryMode: 2 } });
  }
  assertEquals(setAside(life.node), [2, 2]);
  const next = life.restart();
  assert(next.node.clock.wallMs() >= START_MS);
  const later = next.node.connect().channel();
  later.consume("q");
  const came = later.deliveries();
  assertEquals(came.map(({ body, redelivered }) => [body, redelivered]), [["1", false], [
    "2",
    false,
  ]]);
  later.client.close();
  const again = clientOf(next.node, 4096);
  again.consume("q");
  assertEquals(setAside(next.node), [2, 2]);
  again.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  next.node.advance(1);
  const { broker } = next.node;
  assertEquals([broker.apartBytes, broker.store.liveMessageCount], [0, 0]);
});

Deno.test("many messages that fit nobody are set aside within bounded turns", () => {
  const node = new TestNode();
  const publisher = clientOf(node);
  publisher.queue("q");
  for (let i = 0; i < 2500; i++) publisher.publish("q", "b", MIDDLE);
  publisher.publish("q", "small");
  const small = clientOf(node, 4096);
  small.consume("q");
  assertEquals([bodies(small), setAside(node)], [["small"], [2500, 2500]]);
});

Deno.test("a publish whose header leaves no room for what the broker adds is refused with 406", () => {
  const node = new TestNode();
  const channel = clientOf(node);
  channel.queue("q");
  const most = 131_072 - OVERHEAD - 4096;
  channel.publish("q", "fits", { properties: framed(most + OVERHEAD) });
  assertEquals(channel.get("q", true)!.body, "fits");
  channel.publish("q", "does not", { properties: framed(most + OVERHEAD + 1) });
  assertEquals(channel.takeClose(), {
    replyCode: 406,
    replyText: "PRECONDITION_FAILED - message header of 126969 bytes is larger than the 126968" +
      " bytes that a frame_max of 131072 leaves room for",
    classId: 60,
    methodId: 40,
  });
  assertEquals(channel.client.channel(channel.number).get("q"), null);
});

Deno.test("small frames leave less room for what the broker adds", () => {
  const node = new TestNode({ limits: { frameBytesMax: 4096 } });
  const channel = clientOf(node, 4096);
  channel.queue("q");
  channel.publish("q", "fits", { properties: framed(3000) });
  assertEquals(channel.get("q", true)!.body, "fits");
  channel.publish("q", "does not", { properties: framed(3100) });
  assertEquals(channel.takeClose().replyCode, 406);
});

Deno.test("a message that its publisher could not have back is refused instead of returned", () => {
  const node = new TestNode();
  const channel = clientOf(node, 4096);
  channel.publish("nowhere", "back", { mandatory: true, properties: framed(4096) });
  assertEquals(channel.returns().map(({ body }) => body), ["back"]);
  channel.publish("nowhere", "lost", { mandatory: true, properties: framed(4097) });
  const { replyCode, replyText } = channel.takeClose();
  assertEquals([replyCode, channel.returns()], [406, []]);
  assert(replyText.includes("4097 bytes") && replyText.includes("(4096)"), replyText);
});
