// The arguments of automatic retries as a client sends them (docs/automatic-retries.md "Arguments"):
// every refusal closes the channel with 406, says why, and leaves nothing behind.

import { assertEquals, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import type { FieldValue } from "../../src/amqp/field_value.ts";
import { longField, textField } from "../../src/amqp/field_value.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import { type Plain, table } from "../support/test_broker.ts";
import { IS_ON_DISK } from "../support/chosen_store.ts";
import { TestNode } from "../support/test_node.ts";

const MIN = "x-delayed-retry-min";
const MULTIPLIER = "x-delayed-retry-multiplier";
const MAX = "x-delayed-retry-max";
const JITTER = "x-delayed-retry-jitter";
const DELAYS = "x-delayed-retry-delays";
const TYPE = "x-delayed-retry-type";
const LIMIT = "x-delivery-limit";

function array(...items: (number | FieldValue)[]): FieldValue {
  const value = items.map((item) => typeof item === "number" ? longField(item) : item);
  return { tag: "A", value };
}

const below = (value: number, min: number) => `${value} is less than the minimum value ${min}`;
const above = (value: string, max: string) => `${value} is greater than the maximum value ${max}`;
const notInteger = (type: string) => `"expected integer, got ${type}"`;

const meant = (name: string) => `did you mean '${name}'?`;

const OVER_2_53: FieldValue = { tag: "l", value: 2n ** 53n };

/** Arguments, the one that the refusal names, and the rule it gives. */
const REFUSED: [Plain, string, string][] = [
  [{ [MIN]: 0 }, MIN, below(0, 1)],
  [{ [MIN]: -1 }, MIN, below(-1, 1)],
  [{ [MIN]: OVER_2_53 }, MIN, above("9007199254740992", "9007199254740991")],
  [{ [MIN]: "500" }, MIN, notInteger("longstr")],
  [{ [MIN]: true }, MIN, notInteger("bool")],
  [{ [MIN]: { tag: "d", value: 500 } }, MIN, notInteger("double")],
  [{ [MIN]: { tag: "f", value: 500 } }, MIN, notInteger("float")],
  [{ [MIN]: { tag: "D", scale: 0, value: 500 } }, MIN, notInteger("decimal")],
  [{ [MIN]: { tag: "T", value: 500 } }, MIN, notInteger("timestamp")],
  [{ [MIN]: { tag: "V" } }, MIN, notInteger("void")],
  [{ [MIN]: array(500) }, MIN, notInteger("array")],
  [{ [MIN]: 1, [MULTIPLIER]: 0 }, MULTIPLIER, below(0, 1)],
  [{ [MIN]: 1, [MULTIPLIER]: 2 ** 31 }, MULTIPLIER, above("2147483648", "2147483647")],
  [{ [MIN]: 1, [MULTIPLIER]: { tag: "d", value: 1.5 } }, MULTIPLIER, notInteger("double")],
  [{ [MULTIPLIER]: 0 }, MULTIPLIER, below(0, 1)],
  [{ [MIN]: 1, [MAX]: 0 }, MAX, below(0, 1)],
  [{ [MAX]: "1" }, MAX, notInteger("longstr")],
  [{ [MIN]: 1, [LIMIT]: -1 }, LIMIT, "{value_negative,-1}"],
  [{ [MIN]: 1, [LIMIT]: "5" }, LIMIT, notInteger("longstr")],
  [{ [LIMIT]: { tag: "d", value: 5 } }, LIMIT, notInteger("double")],
  [{ [MIN]: 1, [JITTER]: -1 }, JITTER, below(-1, 0)],
  [{ [MIN]: 1, [JITTER]: 101 }, JITTER, above("101", "100")],
  [{ [JITTER]: 101 }, JITTER, above("101", "100")],
  [{ [MIN]: 1, [JITTER]: false }, JITTER, notInteger("bool")],
  [{ [DELAYS]: 5 }, DELAYS, '"expected array of integers, got long"'],
  [{ [DELAYS]: array() }, DELAYS, "expected at least 1 entry"],
  [{ [DELAYS]: array(...Array(65).fill(1)) }, DELAYS, "expected at most 64 entries"],
  [{ [DELAYS]: array(5, 0) }, DELAYS, below(0, 1)],
  [{ [DELAYS]: array(5, textField("6")) }, DELAYS, notInteger("longstr")],
  [{ [DELAYS]: array(5), [MIN]: 1 }, DELAYS, `cannot be combined with ${MIN}`],
  [{ [DELAYS]: array(5), [MULTIPLIER]: 2 }, DELAYS, `cannot be combined with ${MULTIPLIER}`],
  [{ [DELAYS]: array(5), [MAX]: 9 }, DELAYS, `cannot be combined with ${MAX}`],
  [{ [MIN]: 1, [TYPE]: "sometimes" }, TYPE, "unknown value 'sometimes'"],
  [{ [MIN]: 1, [TYPE]: "" }, TYPE, "unknown value ''"],
  [{ [MIN]: 1, [TYPE]: "ALL" }, TYPE, "unknown value 'ALL'"],
  [{ [MIN]: 1, [TYPE]: 1 }, TYPE, "{unacceptable_type,long}"],
  [{ [TYPE]: "all" }, TYPE, `requires ${MIN} or ${DELAYS}`],
  [{ [TYPE]: "failed" }, TYPE, `requires ${MIN} or ${DELAYS}`],
  [{ [TYPE]: "returned", [MULTIPLIER]: 2, [MAX]: 9 }, TYPE, `requires ${MIN} or ${DELAYS}`],
  [{ [TYPE]: "disabled", [MIN]: 0 }, MIN, below(0, 1)],
  [{ [TYPE]: "disabled", [DELAYS]: array(5), [MIN]: 1 }, DELAYS, "cannot be combined"],
  [{ [MIN]: 1, "x-message-deduplication": true }, MIN, "x-message-deduplication"],
  [{ [DELAYS]: array(5), "x-message-deduplication": true }, DELAYS, "x-message-deduplication"],
  [{ [MIN]: 1, "x-queue-type": "stream" }, MIN, "not allowed for streams"],
  [{ [JITTER]: 1, "x-queue-type": "stream" }, JITTER, "not allowed for streams"],
  [{ "x-delayed-retry-minimum": 500 }, "x-delayed-retry-minimum", meant(MIN)],
  [{ "x-delayed-retry-maximum": 500 }, "x-delayed-retry-maximum", meant(MAX)],
  [{ [MIN]: 1, "x-delayed-retry-multiplyer": 2 }, "x-delayed-retry-multiplyer", meant(MULTIPLIER)],
  [{ [MIN]: 1, "x-delayed-retry-delay": 2 }, "x-delayed-retry-delay", meant(DELAYS)],
  [{ [MIN]: 1, "x-delayed-retry-jiter": 2 }, "x-delayed-retry-jiter", meant(JITTER)],
  [{ [MIN]: 1, "x-delayed-retry-typ": "all" }, "x-delayed-retry-typ", meant(TYPE)],
  [{ [MIN]: 1, "x-delayed-retry-limit": 5 }, "x-delayed-retry-limit", meant(LIMIT)],
  [{ [MIN]: 1, "x-delayed-retry-": 5 }, "x-delayed-retry-", "did you mean 'x-delayed-retry-"],
  [{ "X-Delayed-Retry-Min": 5 }, "X-Delayed-Retry-Min", meant(MIN)],
  [{ [TYPE]: "disabled", "x-delayed-retry-mn": 5 }, "x-delayed-retry-mn", meant(MIN)],
  [{ "x-delayed-retry-mn": 5, "x-queue-type": "stream" }, "x-delayed-retry-mn", meant(MIN)],
  [{ "x-message-deduplication": true }, "x-message-deduplication", "not supported yet"],
  [
    { "x-dead-letter-routing-key": "dead" },
    "x-dead-letter-routing-key",
    "routing_key_but_no_dlx_defined",
  ],
];

function title(args: Plain): string {
  return Object.entries(args).map(([name, value]) => {
    if (typeof value !== "object") return `${name}=${JSON.stringify(value)}`;
    if (value.tag !== "A") return `${name} of type ${value.tag}`;
    return `${name} with ${value.value.length} entries`;
  }).join(" ");
}

REFUSED.forEach(([args, name, rule], index) => {
  Deno.test(`queue.declare answers 406 to ${title(args)} (case ${index + 1})`, () => {
    const node = new TestNode();
    const client = node.connect();
    const channel = client.channel();
    channel.send(M.QUEUE_DECLARE, { queue: "q", durable: true, arguments: table(args) });
    const close = channel.takeClose();
    assertEquals([close.replyCode, close.classId, close.methodId], [406, 50, 10]);
    assertStringIncludes(close.replyText, "PRECONDITION_FAILED - ");
    assertStringIncludes(close.replyText, name);
    assertStringIncludes(close.replyText, rule);
    assertEquals(client.isClosed, false);
    assertEquals(node.broker.vhosts.get("/")!.queues.size, 0);
    // The same connection may go on and use the name otherwise.
    const again = client.channel();
    assertEquals(again.queue("q").messageCount, 0);
    again.publish("q", "x");
    assertEquals(again.get("q")!.body, "x");
  });
});

Deno.test("queue.declare takes a retried name of 245 bytes and answers 406 to a longer one", () => {
  const node = new TestNode();
  const client = node.connect();
  // Bytes count, not characters.
  const longest = "é".repeat(122) + "x";
  client.channel().queue(longest, { [MIN]: 1 });
  for (const args of [{ [MIN]: 1 }, { [DELAYS]: array(1) }]) {
    const channel = client.channel();
    channel.send(M.QUEUE_DECLARE, { queue: longest + "y", arguments: table(args) });
    const { replyCode, replyText } = channel.takeClose();
    assertEquals(replyCode, 406);
    assertStringIncludes(replyText, "at most 245 bytes");
    assertLessOrEqual(new TextEncoder().encode(replyText).length, 255);
  }
  // Without retries the longer name is as good as any.
  client.channel().queue(longest + "y", { [MAX]: 5 });
  client.channel().queue(longest + "z", { [MIN]: 5, [TYPE]: "disabled" });
  assertEquals(node.broker.vhosts.get("/")!.queues.size, 3);
});

Deno.test("queue.declare names the argument that was meant before a long name pushes it out", () => {
  const channel = new TestNode().connect().channel();
  const args = table({ [`x-delayed-retry-${"minimum".repeat(30)}`]: 1 });
  channel.send(M.QUEUE_DECLARE, { queue: "q".repeat(255), arguments: args });
  const { replyCode, replyText } = channel.takeClose();
  assertEquals(replyCode, 406);
  assertStringIncludes(replyText, "did you mean 'x-delayed-retry-");
});

Deno.test("queue.declare refuses a misspelt argument also of a queue that is there", () => {
  const client = new TestNode().connect();
  client.channel().queue("q", { [MIN]: 1 });
  const channel = client.channel();
  const args = table({ [MIN]: 1, "x-delayed-retry-mx": 5 });
  channel.send(M.QUEUE_DECLARE, { queue: "q", durable: IS_ON_DISK, arguments: args });
  assertStringIncludes(channel.takeClose().replyText, meant(MAX));
});

Deno.test("queue.declare ignores an argument that no prefix of ours begins, as RabbitMQ does", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q", { "x-delayed": 1, "x-anything": "goes" });
});

Deno.test("queue.declare takes the ends of every range over the wire", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("a", { [MIN]: Number.MAX_SAFE_INTEGER, [MULTIPLIER]: 2 ** 31 - 1, [JITTER]: 100 });
  channel.queue("b", { [MIN]: 1, [MULTIPLIER]: 1, [MAX]: 1, [LIMIT]: 0, [JITTER]: 0 });
  channel.queue("c", { [DELAYS]: array(...Array(64).fill(Number.MAX_SAFE_INTEGER)) });
  channel.queue("d", { [MIN]: 5, [MAX]: OVER_2_53 });
  for (const tag of ["b", "B", "s", "u", "I", "i", "l", "L"] as const) {
    channel.queue(`of type ${tag}`, { [MIN]: { tag, value: 100 }, [LIMIT]: { tag, value: 3 } });
  }
});

Deno.test("queue.declare again is equal with integers of another width, in lists as well", () => {
  const channel = new TestNode().connect().channel();
  channel.queue("q", { [MIN]: 100, [LIMIT]: 20 });
  channel.queue("q", { [MIN]: { tag: "b", value: 100 }, [LIMIT]: { tag: "I", value: 20 } });
  channel.queue("list", { [DELAYS]: array(1, 2) });
  channel.queue("list", {
    [DELAYS]: array({ tag: "b", value: 1 }, { tag: "s", value: 2 }),
  });
});

Deno.test("queue.declare again compares retry arguments as given, inert ones as well", () => {
  const node = new TestNode();
  const client = node.connect();
  const cases: [Plain, Plain, string][] = [
    [{ [MIN]: 1 }, { [MIN]: 1, [LIMIT]: 20 }, LIMIT],
    [{ [MIN]: 1, [LIMIT]: 20 }, { [MIN]: 1 }, LIMIT],
    [{ [MIN]: 1 }, { [MIN]: 2 }, MIN],
    [{ [MIN]: 1 }, {}, MIN],
    [{ [MIN]: 1 }, { [MIN]: 1, [JITTER]: 0 }, JITTER],
    [{ [MAX]: 1 }, {}, MAX],
    [{ [MIN]: 1 }, { [MIN]: 1, [TYPE]: "all" }, TYPE],
    [{ [MIN]: 1, [TYPE]: "disabled" }, { [MIN]: 2, [TYPE]: "disabled" }, MIN],
    [{ [DELAYS]: array(1, 2) }, { [DELAYS]: array(1) }, DELAYS],
  ];
  cases.forEach(([first, second, name], index) => {
    const queue = `q${index}`;
    client.channel().queue(queue, first);
    const channel = client.channel();
    channel.send(M.QUEUE_DECLARE, { queue, durable: IS_ON_DISK, arguments: table(second) });
    const { replyCode, replyText } = channel.takeClose();
    assertEquals(replyCode, 406);
    assertStringIncludes(
      replyText,
      `PRECONDITION_FAILED - inequivalent arg '${name}' for queue '${queue}' in vhost '/': received`,
    );
  });
});

Deno.test("max, multiplier and jitter without min or delays are checked and then do nothing", () => {
  const node = new TestNode();
  const channel = node.connect().channel();
  channel.queue("q", { [MAX]: 5, [MULTIPLIER]: 2, [JITTER]: 10 });
  assertEquals([...node.queue("q").args.effective.keys()], []);
  channel.publish("q", "x");
  // Neither a delay nor the limit that comes with retries.
  for (let delivery = 0; delivery < 30; delivery++) {
    const message = channel.get("q")!;
    assertEquals([message.redelivered, message.properties.headers], [delivery > 0, undefined]);
    channel.reject(message.tag, true);
  }
});
