// The overview, and rates that come from two samples.

import { assertEquals } from "@std/assert";
import { Histogram } from "../../../../src/broker/metrics.ts";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { TestManagement } from "../../../support/management.ts";
import { TestChannel } from "../../../support/test_broker.ts";

Deno.test("GET overview has what tools match on", async () => {
  const management = new TestManagement();
  management.test.queue("q");
  management.test.publish("q", "x");
  management.test.turn();
  const overview = await management.get("/api/overview");
  assertEquals([overview.product_name, overview.product_version], ["Reprise", "1.2.3"]);
  assertEquals([overview.rabbitmq_version, overview.node], ["3.13.7", "rabbit@test"]);
  const { exchanges, ...objects } = overview.object_totals;
  assertEquals(objects, { connections: 3, channels: 4, consumers: 0, queues: 1 });
  assertEquals(exchanges, management.test.vhost.exchanges.size);
  assertEquals(overview.queue_totals.messages, 1);
  assertEquals(overview.queue_totals.messages_ready_details, { rate: 0 });
  assertEquals(overview.message_stats.publish, 1);
  assertEquals(overview.listeners[0], {
    node: "rabbit@test",
    protocol: "amqp",
    ip_address: "127.0.0.1",
    port: 5672,
    socket_opts: { nodelay: true },
  });
  assertEquals(overview.contexts[0].port, "15672");
  assertEquals(typeof overview.churn_rates.queue_created, "number");
});

/** Members of the overview by the fields of Metrics that they show. */
const MESSAGES = {
  publish: "published",
  confirm: "confirmed",
  deliver: "delivered",
  deliver_no_ack: "deliveredNoAck",
  get: "got",
  get_no_ack: "gotNoAck",
  get_empty: "getEmpty",
  redeliver: "redelivered",
  ack: "acked",
  reject: "rejected",
  return_unroutable: "returned",
  drop_unroutable: "unroutableDropped",
} as const;
const CHURN = {
  connection_created: "connectionsOpened",
  connection_closed: "connectionsClosed",
  channel_created: "channelsOpened",
  channel_closed: "channelsClosed",
  queue_declared: "queuesDeclared",
  queue_created: "queuesCreated",
  queue_deleted: "queuesDeleted",
} as const;

Deno.test("GET overview shows each counter under its own name", async () => {
  const management = new TestManagement();
  const { metrics } = management.test.broker;
  const fields = [...Object.values(MESSAGES), ...Object.values(CHURN)];
  fields.forEach((field, index) => metrics[field] = 2 ** (index + 1));
  const { message_stats: messages, churn_rates: churn } = await management.get("/api/overview");
  for (const [name, field] of Object.entries(MESSAGES)) {
    assertEquals(messages[name], metrics[field]);
  }
  for (const [name, field] of Object.entries(CHURN)) assertEquals(churn[name], metrics[field]);
  const { delivered, deliveredNoAck, got, gotNoAck } = metrics;
  assertEquals(messages.deliver_get, delivered + deliveredNoAck + got + gotNoAck);
});

Deno.test("GET overview sums up what is ready, out and delayed", async () => {
  const management = new TestManagement();
  const { test } = management;
  const queue = test.queue("q", { "x-delayed-retry-min": 100 });
  const channel = new TestChannel();
  test.consume(queue, channel, { prefetch: 3 });
  for (let i = 0; i < 8; i++) test.publish("q", "x");
  test.turn();
  channel.unacked.reject(channel.drain()[0]!.tag, false, true, CAUSE_REJECT);
  test.turn();
  const { queue_totals: totals, object_totals: objects } = await management.get("/api/overview");
  assertEquals([totals.messages, totals.messages_ready], [7, 4]);
  assertEquals([totals.messages_unacknowledged, totals.messages_delayed], [3, 1]);
  assertEquals([objects.queues, objects.consumers], [1, 1]);
});

Deno.test("GET overview tells of the data folder", async () => {
  const management = new TestManagement();
  assertEquals((await management.get("/api/overview")).storage, null);
  management.storage = {
    folder: "/data",
    isSynced: false,
    isReadOnly: true,
    freeBytes: 5000,
    freeBytesMin: 9000,
    isDiskLow: true,
    files: [{ kind: "log", fileCount: 2, byteCount: 300 }],
    loggedBytes: 700,
    syncSeconds: new Histogram([1]),
  };
  assertEquals((await management.get("/api/overview")).storage, {
    folder: "/data",
    synced: false,
    read_only: true,
    disk_free: 5000,
    disk_free_limit: 9000,
    disk_free_alarm: true,
    files: [{ kind: "log", count: 2, bytes: 300 }],
  });
});

Deno.test("GET overview picks dotted columns", async () => {
  const overview = await new TestManagement().get(
    "/api/overview?columns=rabbitmq_version,queue_totals.messages,object_totals.queues,nope",
  );
  assertEquals(overview, {
    rabbitmq_version: "3.13.7",
    queue_totals: { messages: 0 },
    object_totals: { queues: 0 },
  });
});

Deno.test("GET overview shows rates once two samples have been taken", async () => {
  const management = new TestManagement();
  management.test.queue("q");
  const publish = (count: number) => {
    for (let i = 0; i < count; i++) management.test.publish("q", "x");
    management.test.turn();
  };
  const rate = async () => {
    const overview = await management.get("/api/overview");
    return overview.message_stats.publish_details.rate;
  };
  publish(7);
  assertEquals(await rate(), 0);
  publish(20);
  management.monotonicMs += 5000;
  await management.app.sample();
  assertEquals(await rate(), 4);
  management.monotonicMs += 5000;
  await management.app.sample();
  assertEquals(await rate(), 0);
  const queue = await management.get("/api/queues/%2F/q");
  assertEquals(queue.message_stats.publish, 27);
});
