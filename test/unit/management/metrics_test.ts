// The Prometheus page.

import { assertEquals, assertGreater, assertMatch, assertStringIncludes } from "@std/assert";
import { textField } from "../../../src/amqp/field_value.ts";
import { CAUSE_REJECT } from "../../../src/broker/retry/rules.ts";
import { Histogram } from "../../../src/broker/metrics.ts";
import type { StorageInfo } from "../../../src/management/context.ts";
import { PrometheusText } from "../../../src/management/prometheus_text.ts";
import { TestChannel } from "../../support/test_broker.ts";
import { TestManagement } from "../../support/management.ts";

Deno.test("queue JSON and GET metrics count messages whose header fits no consumer", async () => {
  const management = new TestManagement();
  const { test } = management;
  const queue = test.queue("work");
  test.consume(queue, new TestChannel(), { headerBytesMax: 100 });
  const large = { headers: new Map([["fill", textField("x".repeat(100))]]) };
  for (const properties of [large, {}, large]) test.publish("work", "x", properties);
  test.turn();
  const page = await management.request("/metrics");
  assertStringIncludes(page.text, "\nreprise_messages_set_aside 2\n");
  const json = await management.get("/api/queues/%2F/work");
  assertEquals([json.messages_set_aside, json.messages_ready, json.messages], [2, 2, 3]);
});

Deno.test("GET metrics counts retries and measures queues", async () => {
  const management = new TestManagement();
  const { test } = management;
  const queue = test.queue("work", { "x-delayed-retry-min": 100, "x-delivery-limit": 1 });
  const channel = new TestChannel();
  test.consume(queue, channel);
  test.publish("work", "abc");
  test.turn();
  channel.unacked.reject(channel.drain()[0]!.tag, false, true, CAUSE_REJECT);
  test.turn();
  test.publish("work", "de");
  test.turn();
  const page = await management.request("/metrics");
  assertEquals(page.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (
    const line of [
      "reprise_retry_delayed 1",
      "reprise_retry_delayed_bytes 3",
      "reprise_retry_scheduled_total 1",
      "reprise_retry_redelivered_total 0",
      "reprise_retry_exhausted_total 0",
      "reprise_retry_lateness_seconds_count 0",
      "rabbitmq_queues 1",
      "rabbitmq_queue_messages_ready 0",
      "rabbitmq_queue_messages_unacked 1",
      "rabbitmq_connections 3",
      'rabbitmq_global_messages_received_total{protocol="amqp091"} 2',
      "rabbitmq_process_resident_memory_bytes 123456",
    ]
  ) assertStringIncludes(page.text, `\n${line}\n`);
  assertMatch(page.text, /rabbitmq_identity_info\{rabbitmq_node="rabbit@test",/);
});

/** Fields of Metrics by the sample that shows them. */
const COUNTERS = {
  rabbitmq_connections_opened_total: "connectionsOpened",
  rabbitmq_connections_closed_total: "connectionsClosed",
  rabbitmq_channels_opened_total: "channelsOpened",
  rabbitmq_channels_closed_total: "channelsClosed",
  rabbitmq_queues_declared_total: "queuesDeclared",
  rabbitmq_queues_created_total: "queuesCreated",
  rabbitmq_queues_deleted_total: "queuesDeleted",
  'rabbitmq_global_messages_received_total{protocol="amqp091"}': "published",
  'rabbitmq_global_messages_confirmed_total{protocol="amqp091"}': "confirmed",
  'rabbitmq_global_messages_unroutable_returned_total{protocol="amqp091"}': "returned",
  'rabbitmq_global_messages_unroutable_dropped_total{protocol="amqp091"}': "unroutableDropped",
  'rabbitmq_global_messages_delivered_consume_manual_ack_total{protocol="amqp091"}': "delivered",
  'rabbitmq_global_messages_delivered_consume_auto_ack_total{protocol="amqp091"}': "deliveredNoAck",
  'rabbitmq_global_messages_delivered_get_manual_ack_total{protocol="amqp091"}': "got",
  'rabbitmq_global_messages_delivered_get_auto_ack_total{protocol="amqp091"}': "gotNoAck",
  'rabbitmq_global_messages_get_empty_total{protocol="amqp091"}': "getEmpty",
  'rabbitmq_global_messages_redelivered_total{protocol="amqp091"}': "redelivered",
  'rabbitmq_global_messages_acknowledged_total{protocol="amqp091"}': "acked",
  rabbitmq_global_messages_dead_lettered_rejected_total: "deadLetteredRejected",
  rabbitmq_global_messages_dead_lettered_expired_total: "deadLetteredExpired",
  rabbitmq_global_messages_dead_lettered_maxlen_total: "deadLetteredMaxlen",
  rabbitmq_global_messages_dead_lettered_delivery_limit_total: "deadLetteredDeliveryLimit",
  reprise_dead_letters_dropped_total: "deadLettersDropped",
  reprise_retry_scheduled_total: "retryScheduled",
  reprise_retry_redelivered_total: "retryRedelivered",
  reprise_retry_exhausted_total: "retryExhausted",
  reprise_retry_expired_total: "retryExpired",
  reprise_retry_store_failures_total: "retryStoreFailures",
  reprise_retry_over_limit_total: "retryOverLimit",
  reprise_retry_delayed_again_total: "retryDelayedAgain",
} as const;

Deno.test("GET metrics shows each counter under its own name", async () => {
  const management = new TestManagement();
  const { metrics } = management.test.broker;
  const fields = Object.values(COUNTERS);
  // Powers of two: no sum of others is one of them.
  fields.forEach((field, index) => metrics[field] = 2 ** (index + 1));
  metrics.retryLatenessSeconds.observe(0.003);
  metrics.retryAttempts.observe(7);
  const { text } = await management.request("/metrics");
  for (const [sample, field] of Object.entries(COUNTERS)) {
    assertStringIncludes(text, `\n${sample} ${metrics[field]}\n`);
  }
  const { delivered, deliveredNoAck, got, gotNoAck } = metrics;
  const all = delivered + deliveredNoAck + got + gotNoAck;
  const routed = metrics.published - metrics.returned - metrics.unroutableDropped;
  for (
    const line of [
      `rabbitmq_global_messages_delivered_total{protocol="amqp091"} ${all}`,
      `rabbitmq_global_messages_routed_total{protocol="amqp091"} ${routed}`,
      "reprise_retry_lateness_seconds_sum 0.003",
      "reprise_retry_attempts_sum 7",
    ]
  ) assertStringIncludes(text, `\n${line}\n`);
});

const STORAGE: StorageInfo = {
  folder: "/data",
  isSynced: true,
  isReadOnly: false,
  freeBytes: 5000,
  freeBytesMin: 1000,
  isDiskLow: false,
  files: [
    { kind: "log", fileCount: 2, byteCount: 300 },
    { kind: "snapshot", fileCount: 1, byteCount: 40 },
  ],
  loggedBytes: 700,
  syncSeconds: new Histogram([0.001, 0.01]),
};

Deno.test("GET metrics tells of the data folder, and nothing of one without it", async () => {
  const management = new TestManagement();
  assertEquals((await management.request("/metrics")).text.includes("reprise_store_"), false);
  management.storage = STORAGE;
  const { text } = await management.request("/metrics");
  for (
    const line of [
      "rabbitmq_disk_space_available_bytes 5000",
      "rabbitmq_disk_space_available_limit_bytes 1000",
      "reprise_store_disk_low 0",
      "reprise_store_read_only 0",
      'reprise_store_files{kind="log"} 2',
      'reprise_store_files{kind="snapshot"} 1',
      'reprise_store_bytes{kind="log"} 300',
      "reprise_store_logged_bytes_total 700",
      "reprise_store_sync_seconds_count 0",
    ]
  ) assertStringIncludes(text, `\n${line}\n`);
  management.storage = { ...STORAGE, freeBytes: null };
  const silent = await management.request("/metrics");
  assertEquals(silent.text.includes("disk_space_available_bytes"), false);
});

Deno.test("GET metrics is well formed: every sample has a type and no name comes twice", async () => {
  const management = new TestManagement();
  management.storage = STORAGE;
  const { text } = await management.request("/metrics");
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((match) => match[1]!);
  assertEquals(new Set(types).size, types.length);
  for (const line of text.trimEnd().split("\n")) {
    if (line.startsWith("#")) continue;
    const [, name] = /^([a-z_]+)(\{.*\})? -?[0-9.e+]+$/.exec(line) ?? [];
    const isTyped = types.some((type) => name?.startsWith(type));
    assertEquals(isTyped, true, line);
  }
});

Deno.test("histogram() writes cumulative buckets", () => {
  const histogram = new Histogram([1, 5]);
  for (const value of [0.5, 1, 3, 9]) histogram.observe(value);
  const page = new PrometheusText();
  page.histogram("h", "help", histogram);
  assertEquals(page.text.split("\n").slice(2, 7), [
    'h_bucket{le="1"} 2',
    'h_bucket{le="5"} 3',
    'h_bucket{le="+Inf"} 4',
    "h_sum 13.5",
    "h_count 4",
  ]);
});

Deno.test("gauge() escapes labels", () => {
  const page = new PrometheusText();
  page.gauge("g", "help", 1, { name: 'a"b\\c\nd' });
  assertStringIncludes(page.text, 'g{name="a\\"b\\\\c\\nd"} 1');
});

Deno.test("GET metrics shows every bound of a histogram, and how much is at or below it", async () => {
  const management = new TestManagement();
  const { metrics } = management.test.broker;
  metrics.retryLatenessSeconds.observe(0.025);
  metrics.retryLatenessSeconds.observe(31);
  metrics.retryAttempts.observe(9);
  const { text } = await management.request("/metrics");
  const buckets = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}_bucket\\{.*?le="(.*?)"\\} (\\d+)$`, "gm"))]
      .map(([, bound, count]) => `${bound} ${count}`).join(", ");
  assertEquals(
    buckets("reprise_retry_lateness_seconds"),
    "0.001 0, 0.002 0, 0.005 0, 0.01 0, 0.025 1, 0.05 1, 0.1 1, 0.25 1, 0.5 1, 1 1, 5 1, 30 1, +Inf 2",
  );
  assertEquals(
    buckets("reprise_retry_attempts"),
    "1 0, 2 0, 3 0, 4 0, 5 0, 6 0, 8 0, 10 1, 15 1, 20 1, 30 1, 50 1, +Inf 1",
  );
});

Deno.test("GET metrics has counted nothing of a node that has done nothing", async () => {
  const { text } = await new TestManagement().request("/metrics");
  const lines = text.split("\n").filter((line) => /^\w+_(total|count|sum)\b/.test(line));
  assertGreater(lines.length, 10);
  // The login of this request.
  const counted = lines.filter((line) => !line.endsWith(" 0"));
  assertEquals(counted.filter((line) => !line.includes("auth")), []);
});
