// What clients are promised about exchanges and queues (docs/exchanges-and-queues.md), over the wire,
// where the tests of single files do not go through frames.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { FieldTable, FieldValue } from "../../src/amqp/field_value.ts";
import { textField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { table } from "../support/test_broker.ts";
import { IS_ON_DISK } from "../support/chosen_store.ts";
import { TestNode } from "../support/test_node.ts";

function list(...keys: string[]): FieldValue {
  return { tag: "A", value: keys.map(textField) };
}

function drain(channel: ClientChannel, queue: string): string[] {
  const bodies: string[] = [];
  for (;;) {
    const message = channel.get(queue, true);
    if (message === null) return bodies;
    bodies.push(message.body);
  }
}

function queueCount(node: TestNode): number {
  return node.broker.vhosts.get("/")!.queues.size;
}

// --- refusals

type Act = (channel: ClientChannel) => void;

const bindArgs = (more: object) => ({ routingKey: "k", arguments: new Map(), ...more });

/** What is refused on a fresh node with the queue `q` and the exchange `x`: code and text. */
const REFUSED: [string, Act, number, string][] = [
  [
    "a declare of the default exchange",
    (c) => c.send(M.EXCHANGE_DECLARE, { exchange: "", type: "direct" }),
    403,
    "operation not permitted on the default exchange",
  ],
  [
    "a delete of the default exchange",
    (c) => c.send(M.EXCHANGE_DELETE, { exchange: "" }),
    403,
    "operation not permitted on the default exchange",
  ],
  [
    "a bind to the default exchange",
    (c) => c.send(M.QUEUE_BIND, bindArgs({ queue: "q", exchange: "" })),
    403,
    "operation not permitted on the default exchange",
  ],
  [
    "an unbind from the default exchange",
    (c) => c.send(M.QUEUE_UNBIND, bindArgs({ queue: "q", exchange: "" })),
    403,
    "operation not permitted on the default exchange",
  ],
  [
    "an exchange bound to the default exchange",
    (c) => c.send(M.EXCHANGE_BIND, bindArgs({ destination: "x", source: "" })),
    403,
    "operation not permitted on the default exchange",
  ],
  [
    "the default exchange bound to another",
    (c) => c.send(M.EXCHANGE_BIND, bindArgs({ destination: "", source: "x" })),
    403,
    "operation not permitted on the default exchange",
  ],
  [
    "a delete of a system exchange",
    (c) => c.send(M.EXCHANGE_DELETE, { exchange: "amq.direct" }),
    403,
    "exchange 'amq.direct' in vhost '/'",
  ],
  [
    "an exchange of another type",
    (c) => c.send(M.EXCHANGE_DECLARE, { exchange: "x", type: "topic" }),
    406,
    "inequivalent arg 'type' for exchange 'x' in vhost '/': received 'topic' but current is 'direct'",
  ],
  [
    "an exchange of other durability",
    (c) => c.send(M.EXCHANGE_DECLARE, { exchange: "x", type: "direct", durable: true }),
    406,
    "inequivalent arg 'durable' for exchange 'x' in vhost '/': received 'true' but current is 'false'",
  ],
  [
    "an exchange of unknown type",
    (c) => c.send(M.EXCHANGE_DECLARE, { exchange: "y", type: "mail" }),
    406,
    "mail",
  ],
  [
    "a passive declare of a missing exchange",
    (c) => c.send(M.EXCHANGE_DECLARE, { exchange: "y", type: "direct", passive: true }),
    404,
    "no exchange 'y' in vhost '/'",
  ],
  [
    "a delete of an exchange in use",
    (c) => {
      c.bind("q", "x");
      c.send(M.EXCHANGE_DELETE, { exchange: "x", ifUnused: true });
    },
    406,
    "exchange 'x' in vhost '/' in use",
  ],
  [
    "a bind of a missing queue",
    (c) => c.send(M.QUEUE_BIND, bindArgs({ queue: "nope", exchange: "x" })),
    404,
    "no queue 'nope' in vhost '/'",
  ],
  [
    "a queue with another TTL",
    (c) => {
      c.queue("ttl", { "x-message-ttl": 5 });
      const args = table({ "x-message-ttl": 6 });
      c.send(M.QUEUE_DECLARE, { queue: "ttl", durable: IS_ON_DISK, arguments: args });
    },
    406,
    "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'ttl' in vhost '/': " +
    "received '6' but current is '5'",
  ],
  [
    "a reserved queue name",
    (c) => c.send(M.QUEUE_DECLARE, { queue: "amq.mine" }),
    403,
    "queue name 'amq.mine' contains reserved prefix 'amq.*'",
  ],
  [
    "a delete of a queue that is not empty",
    (c) => {
      c.publish("q", "x");
      c.send(M.QUEUE_DELETE, { queue: "q", ifEmpty: true });
    },
    406,
    "queue 'q' in vhost '/' not empty",
  ],
  [
    "a stream",
    (c) => c.send(M.QUEUE_DECLARE, { queue: "s", arguments: table({ "x-queue-type": "stream" }) }),
    406,
    "queue type 'stream' is not supported yet",
  ],
  [
    "priorities",
    (c) => c.send(M.QUEUE_DECLARE, { queue: "s", arguments: table({ "x-max-priority": 5 }) }),
    406,
    "invalid arg 'x-max-priority' for queue 's' in vhost '/': not supported yet",
  ],
  [
    "a quorum queue that is not durable",
    (c) => c.send(M.QUEUE_DECLARE, { queue: "s", arguments: table({ "x-queue-type": "quorum" }) }),
    406,
    "queue 's' in vhost '/'",
  ],
  [
    "a CC header that is no list",
    (c) => c.publish("q", "x", { properties: { headers: table({ CC: "q" }) } }),
    406,
    'invalid message: {unacceptable_type_in_header,"CC",longstr}',
  ],
  ...["", "-1", "1.5", " 1", "315360000001", "1e3"].map((
    expiration,
  ): [string, Act, number, string] => [
    `the expiration '${expiration}'`,
    (c) => c.publish("q", "x", { properties: { expiration } }),
    406,
    `invalid expiration '${expiration}'`,
  ]),
];

for (const [name, act, code, text] of REFUSED) {
  Deno.test(`${name} answers ${code}`, () => {
    const node = new TestNode();
    const channel = node.connect().channel();
    channel.queue("q");
    channel.exchange("x", "direct");
    act(channel);
    const close = channel.takeClose();
    assertEquals(close.replyCode, code);
    assertStringIncludes(close.replyText, text);
    assertEquals(channel.client.isClosed, false);
    for (const queue of ["s", "amq.mine"]) {
      assertEquals(node.broker.vhosts.get("/")!.queues.has(queue), false);
    }
  });
}

// --- exchanges

Deno.test("a queue gets a message once however many bindings match, through cycles too", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.exchange("a", "topic");
  channel.exchange("b", "fanout");
  for (const key of ["#", "*.k", "a.*"]) channel.bind("q", "a", key);
  channel.bind("q", "b");
  for (const [source, destination] of [["a", "b"], ["b", "a"]]) {
    const bind = { source, destination, routingKey: "#", arguments: new Map() };
    channel.rpc(M.EXCHANGE_BIND, bind, M.EXCHANGE_BIND_OK);
  }
  const properties = { headers: table({ CC: list("a.b", "q"), BCC: list("a.c") }) };
  channel.publish("a.k", "x", { exchange: "a", properties });
  assertEquals(drain(channel, "q"), ["x"]);
});

Deno.test("CC and BCC route, only CC is seen: by get, by consumers and in dead letters", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("dead");
  channel.queue("shown", { "x-dead-letter-exchange": "amq.fanout" });
  channel.queue("hidden");
  channel.bind("dead", "amq.fanout");
  const headers = table({ CC: list("shown"), BCC: list("hidden"), keep: 1 });
  channel.publish("nowhere", "x", { mandatory: true, properties: { headers } });
  assertEquals(channel.returns(), []);
  const visible = table({ CC: list("shown"), keep: 1 });
  assertEquals(channel.get("hidden")!.properties.headers, visible);
  channel.consume("shown");
  const [delivered] = channel.deliveries();
  assertEquals([delivered!.properties.headers, delivered!.routingKey], [visible, "nowhere"]);
  channel.reject(delivered!.tag, false);
  const dead = channel.get("dead")!;
  assertEquals(dead.properties.headers!.has("BCC"), false);
  assertEquals(dead.properties.headers!.get("CC"), list("shown"));
});

Deno.test("BCC is not shown in what is returned either", () => {
  const channel = new TestNode().connect().channel();
  const headers = table({ CC: list("nowhere"), BCC: list("hidden"), keep: 1 });
  const properties = { headers, messageId: "m" };
  channel.publish("nowhere", "x", { mandatory: true, properties });
  const [message] = channel.returns();
  assertEquals([message!.body, message!.properties], ["x", {
    headers: table({ CC: list("nowhere"), keep: 1 }),
    messageId: "m",
  }]);
});

Deno.test("what an alternate exchange routes is not returned, what it cannot route is", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.exchange("alternate", "direct");
  channel.bind("q", "alternate", "known");
  channel.exchange("x", "direct", { arguments: table({ "alternate-exchange": "alternate" }) });
  channel.publish("known", "a", { exchange: "x", mandatory: true });
  channel.publish("unknown", "b", { exchange: "x", mandatory: true });
  const returned = channel.returns().map((one) => [one.body, one.exchange, one.replyCode]);
  assertEquals([returned, drain(channel, "q")], [[["b", "x", 312]], ["a"]]);
});

Deno.test("an auto-delete exchange goes with its last binding", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.exchange("x", "direct", { autoDelete: true });
  channel.bind("q", "x", "k");
  const unbind = { queue: "q", exchange: "x", routingKey: "k", arguments: new Map() };
  channel.rpc(M.QUEUE_UNBIND, unbind, M.QUEUE_UNBIND_OK);
  channel.publish("k", "x", { exchange: "x" });
  assertEquals(channel.takeClose().replyText, "NOT_FOUND - no exchange 'x' in vhost '/'");
});

Deno.test("a headers exchange matches all, any and their with-x forms", () => {
  const channel = new TestNode().connect().channel();
  const bindings: [string, FieldTable][] = [
    ["all", table({ "x-match": "all", a: 1, b: "2" })],
    ["any", table({ "x-match": "any", a: 1, b: "2" })],
    ["all-with-x", table({ "x-match": "all-with-x", a: 1, "x-c": 3 })],
    ["any-with-x", table({ "x-match": "any-with-x", "x-c": 3, d: 4 })],
    ["absent", table({ a: 1 })],
  ];
  for (const [queue, args] of bindings) {
    channel.queue(queue);
    channel.bind(queue, "amq.headers", "", args);
  }
  const matched = (headers: FieldTable) => {
    channel.publish("", "x", { exchange: "amq.headers", properties: { headers } });
    return bindings.map(([queue]) => queue).filter((queue) => drain(channel, queue).length > 0);
  };
  assertEquals(matched(table({ a: 1 })), ["any", "absent"]);
  assertEquals(matched(table({ a: 1, b: "2" })), ["all", "any", "absent"]);
  assertEquals(matched(table({ a: 1, "x-c": 3 })), ["any", "all-with-x", "any-with-x", "absent"]);
  assertEquals(matched(table({ b: 2 })), []);
});

// --- queues

Deno.test("methods with nowait are done and not answered", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.send(M.QUEUE_DECLARE, { queue: "q", nowait: true });
  channel.send(M.EXCHANGE_DECLARE, { exchange: "x", type: "fanout", nowait: true });
  channel.send(M.QUEUE_BIND, bindArgs({ queue: "q", exchange: "x", nowait: true }));
  channel.publish("", "a", { exchange: "x" });
  channel.send(M.BASIC_CONSUME, { queue: "q", consumerTag: "t", nowait: true });
  assertEquals(channel.client.inbox.map(({ name }) => name), ["basic.deliver"]);
  const [message] = channel.deliveries();
  channel.send(M.BASIC_CANCEL, { consumerTag: "t", nowait: true });
  channel.reject(message!.tag, true);
  channel.send(M.QUEUE_PURGE, { queue: "q", nowait: true });
  assertEquals(channel.get("q"), null);
  channel.send(M.EXCHANGE_DELETE, { exchange: "x", nowait: true });
  channel.send(M.QUEUE_DELETE, { queue: "q", nowait: true });
  assertEquals([channel.client.inbox.length, queueCount(node)], [0, 0]);
});

Deno.test("a queue without a name gets one, declare-ok counts messages and consumers", () => {
  const channel = new TestNode().connect().channel();
  const { queue, messageCount, consumerCount } = channel.queue("");
  assertMatch(queue, /^amq\.gen-[A-Za-z0-9_-]{22}$/);
  assertEquals([messageCount, consumerCount], [0, 0]);
  channel.publish(queue, "a");
  channel.publish(queue, "b");
  channel.qos(1);
  channel.consume(queue);
  const again = channel.queue(queue, {}, { passive: true });
  assertEquals([again.queue, again.messageCount, again.consumerCount], [queue, 1, 1]);
});

Deno.test("an empty routing key stands for the queue only where no queue is named", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("named");
  channel.queue("last");
  channel.bind("named", "amq.direct", "");
  channel.bind("", "amq.direct", "");
  for (const key of ["", "named", "last"]) {
    channel.publish(key, key, { exchange: "amq.direct", mandatory: true });
  }
  assertEquals(channel.returns().map(({ body }) => body), ["named"]);
  assertEquals([drain(channel, "named"), drain(channel, "last")], [[""], ["last"]]);
});

Deno.test("names of 255 bytes of UTF-8 work in every method", () => {
  const channel = new TestNode().connect().channel();
  const name = "ü".repeat(127) + "!";
  assertEquals(channel.queue(name).queue, name);
  channel.exchange(name, "direct");
  channel.bind(name, name, name);
  channel.publish(name, "x", { exchange: name });
  channel.consume(name, { consumerTag: name });
  const [message] = channel.deliveries();
  assertEquals([message!.exchange, message!.routingKey, message!.consumerTag], [name, name, name]);
});

Deno.test("delete of a missing queue or exchange is answered, with 0 messages", () => {
  const channel = new TestNode().connect().channel();
  const deletion = { queue: "nope", ifEmpty: true, ifUnused: true };
  assertEquals(channel.rpc(M.QUEUE_DELETE, deletion, M.QUEUE_DELETE_OK).args.messageCount, 0);
  channel.rpc(M.EXCHANGE_DELETE, { exchange: "nope", ifUnused: true }, M.EXCHANGE_DELETE_OK);
});

Deno.test("purge and delete count ready messages, what is out stays until it is settled", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  for (const body of ["a", "b", "c"]) channel.publish("q", body);
  const { tag } = channel.get("q")!;
  const purge = { queue: "q", nowait: false };
  assertEquals(channel.rpc(M.QUEUE_PURGE, purge, M.QUEUE_PURGE_OK).args.messageCount, 2);
  channel.nack(tag, true);
  assertEquals(channel.get("q")!.body, "a");
  channel.publish("q", "d");
  const deleted = channel.rpc(M.QUEUE_DELETE, { queue: "q" }, M.QUEUE_DELETE_OK);
  assertEquals(deleted.args.messageCount, 1);
  channel.nack(0, true, true);
  assertEquals(node.broker.store.liveMessageCount, 0);
});

const LOCKED: [string, number, object][] = [
  ["queue.declare", M.QUEUE_DECLARE, { queue: "mine" }],
  ["an exclusive queue.declare", M.QUEUE_DECLARE, { queue: "mine", exclusive: true }],
  ["a passive queue.declare", M.QUEUE_DECLARE, { queue: "mine", passive: true }],
  ["queue.bind", M.QUEUE_BIND, bindArgs({ queue: "mine", exchange: "amq.direct" })],
  ["queue.unbind", M.QUEUE_UNBIND, bindArgs({ queue: "mine", exchange: "amq.direct" })],
  ["queue.purge", M.QUEUE_PURGE, { queue: "mine", nowait: false }],
  ["queue.delete", M.QUEUE_DELETE, { queue: "mine" }],
  ["basic.consume", M.BASIC_CONSUME, { queue: "mine" }],
  ["basic.get", M.BASIC_GET, { queue: "mine" }],
];

for (const [name, key, args] of LOCKED) {
  Deno.test(`${name} on another connection's exclusive queue answers 405`, () => {
    const node = new TestNode();
    const owner = node.connect().channel();
    owner.queue("mine", {}, { exclusive: true });
    owner.bind("mine", "amq.direct", "k");
    const channel = node.connect().channel();
    channel.send(key, args);
    const close = channel.takeClose();
    assertEquals([close.replyCode, close.classId, close.methodId], [
      405,
      key >>> 16,
      key & 0xffff,
    ]);
    assertStringIncludes(close.replyText, "RESOURCE_LOCKED - cannot obtain exclusive access");
    // Anyone may publish to it, and it goes with its connection.
    const other = node.connect().channel();
    other.publish("k", "x", { exchange: "amq.direct" });
    assertEquals(owner.get("mine")!.body, "x");
    owner.client.wire.drop();
    assertEquals(queueCount(node), 0);
    other.publish("k", "y", { exchange: "amq.direct", mandatory: true });
    assertEquals(other.returns().length, 1);
  });
}

Deno.test("overflow over the wire: drop-head acks, the reject modes nack and never return", () => {
  const cases: [string, string[], string[], string[]][] = [
    ["drop-head", ["+1", "+2"], ["b"], ["a"]],
    ["reject-publish", ["+1", "-2"], ["a"], []],
    ["reject-publish-dlx", ["+1", "-2"], ["a"], ["b"]],
  ];
  for (const [overflow, confirms, kept, dead] of cases) {
    const channel = new TestNode().connect().channel();
    channel.queue("dead");
    channel.queue("q", {
      "x-max-length": 1,
      "x-overflow": overflow,
      "x-dead-letter-exchange": "",
      "x-dead-letter-routing-key": "dead",
    });
    channel.confirmSelect();
    channel.publish("q", "a", { mandatory: true });
    channel.publish("q", "b", { mandatory: true });
    assertEquals(channel.confirms(), confirms);
    assertEquals(channel.returns(), []);
    assertEquals([drain(channel, "q"), drain(channel, "dead")], [kept, dead]);
  }
});

Deno.test("an expiration may have leading zeros and a plus sign, as on RabbitMQ", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q");
  for (const expiration of ["+5", "0005", "315360000000"]) {
    channel.publish("q", expiration, { properties: { expiration } });
  }
  node.advance(4);
  assertEquals(channel.queue("q", {}, { passive: true }).messageCount, 3);
  node.advance(1);
  assertEquals(drain(channel, "q"), ["315360000000"]);
});

Deno.test("time to live 0 reaches a consumer that waits and nobody else", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("dead");
  const dlx = { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" };
  channel.queue("q", dlx);
  const properties = { expiration: "0" };
  channel.publish("q", "a", { properties });
  assertEquals([channel.get("q"), drain(channel, "dead")], [null, ["a"]]);
  channel.consume("q");
  channel.publish("q", "b", { properties });
  assertEquals(channel.deliveries().map(({ body }) => body), ["b"]);
});

Deno.test("consume takes no-local, cancel of an unknown tag is answered", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.consume("q", { noLocal: true, consumerTag: "t" });
  channel.publish("q", "mine");
  assertEquals(channel.deliveries().length, 1);
  channel.cancel("nobody");
  channel.cancel("t");
  // A tag that is free again may be used again.
  assertEquals(channel.consume("q", { consumerTag: "t" }), "t");
});

Deno.test("recover delivers under new tags; the old ones are unknown", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q");
  channel.consume("q");
  channel.publish("q", "x");
  assertEquals(channel.deliveries().map(({ tag }) => tag), [1]);
  channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
  assertEquals(channel.deliveries().map(({ tag, redelivered }) => [tag, redelivered]), [[2, true]]);
  channel.ack(1);
  assertEquals(channel.takeClose().replyText, "PRECONDITION_FAILED - unknown delivery tag 1");
});

Deno.test("limits on queues and exchanges answer 406 and leave room again after a delete", () => {
  const node = new TestNode({ limits: { queueCountMax: 1, exchangeCountMax: 7 } });
  const client = node.connect();
  client.channel().queue("a");
  const channel = client.channel();
  channel.send(M.QUEUE_DECLARE, { queue: "b" });
  assertEquals(
    channel.takeClose().replyText,
    "PRECONDITION_FAILED - cannot declare queue 'b': queue limit (1) is reached",
  );
  const again = client.channel();
  again.queue("a");
  again.rpc(M.QUEUE_DELETE, { queue: "a" }, M.QUEUE_DELETE_OK);
  again.queue("b");
  again.exchange("x", "direct");
  again.send(M.EXCHANGE_DECLARE, { exchange: "y", type: "direct" });
  assertStringIncludes(again.takeClose().replyText, "exchange limit (7) is reached");
});
