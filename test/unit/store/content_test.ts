// FileStore gives each message back as it was published, wherever it was meanwhile.

import { assertEquals } from "@std/assert";
import { MemoryDisk } from "../../support/memory_disk.ts";
import { type Seen, TestChannel } from "../../support/test_broker.ts";
import { PagedNode, range } from "./support/paged_node.ts";

const COUNT = 120;

/** Publishes messages of which each has an exchange, key, properties and size of its own. */
function publish(node: PagedNode, deliveryMode: number, bodyBytes: number): void {
  for (const number of range(0, COUNT)) {
    const exchange = `x${number % 3}`;
    const properties = {
      deliveryMode,
      correlationId: "c".repeat(number % 7),
      priority: number % 9,
    };
    const body = `${number}`.padStart(bodyBytes + number, ".");
    node.t.publish(`k.${number}`, body, { ...properties, messageId: `m${number}` }, exchange);
    if (number % 8 === 0) node.settle();
  }
  node.settle();
}

function start(options: ConstructorParameters<typeof PagedNode>[1] = {}): PagedNode {
  const node = new PagedNode(new MemoryDisk(), options);
  node.queue("q");
  for (const name of ["x0", "x1", "x2"]) {
    const flags = { type: "topic", autoDelete: false, internal: false, durable: true };
    node.t.vhost.declareExchange({ name, ...flags, args: new Map() });
    const binding = { queue: "q", exchange: name, routingKey: "k.*", args: new Map() };
    node.t.vhost.bindQueue(binding, node.t.owner);
  }
  node.settle();
  return node;
}

function check(node: PagedNode, deliveryMode: number, bodyBytes: number): void {
  const channel = new TestChannel();
  const seen = range(0, COUNT).map((): Seen => {
    const one = node.get("q", channel)!;
    node.settle();
    return one;
  });
  for (const [number, { exchange, routingKey, body, properties }] of seen.entries()) {
    assertEquals([exchange, routingKey], [`x${number % 3}`, `k.${number}`]);
    assertEquals(body, `${number}`.padStart(bodyBytes + number, "."));
    assertEquals([properties.messageId, properties.deliveryMode], [`m${number}`, deliveryMode]);
    assertEquals([properties.correlationId, properties.priority], [
      "c".repeat(number % 7),
      number % 9,
    ]);
  }
}

const NO_PAGES = { sizes: { pagedChunkBytesMax: 0 } };

Deno.test("FileStore gives messages back as they were from pages", () => {
  const node = start();
  publish(node, 2, 100);
  check(node, 2, 100);
});

Deno.test("FileStore gives messages back as they were from pages after a crash", () => {
  const node = start();
  publish(node, 2, 100);
  check(node.crash(), 2, 100);
});

Deno.test("FileStore gives messages back as they were from the log after a crash", () => {
  const node = start(NO_PAGES);
  publish(node, 2, 400);
  check(node.crash(), 2, 400);
});

Deno.test("FileStore gives messages back as they were that were given up one by one", () => {
  for (const deliveryMode of [1, 2]) {
    const node = start(NO_PAGES);
    publish(node, deliveryMode, 1000);
    check(node, deliveryMode, 1000);
  }
});

Deno.test("FileStore gives messages back as they were when they were moved to another file", () => {
  const node = start({ sizes: { ...NO_PAGES.sizes, moveSlackBytes: 0 } });
  publish(node, 2, 200);
  // Most of each log file goes.
  node.queue("other");
  for (let rounds = 0; rounds < 4; rounds++) {
    node.publish("other", 0, 300);
    node.take("other", 300);
  }
  for (let turns = 0; turns < 100; turns++) node.settle();
  assertEquals(node.files("segment").length > 0, true);
  check(node.crash(), 2, 200);
});
