// Tests of names: what clients may declare, how long a name is, what a generated one looks like.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import {
  assertFits,
  assertNewName,
  assertNotInternal,
  describe,
  generateQueueName,
  isRetryQueueName,
  RETRIED_NAME_BYTES_MAX,
  retryQueueName,
  utf8Bytes,
  withoutLineBreaks,
} from "../../../src/broker/names.ts";
import { Prng } from "../../../src/lib/prng.ts";
import { refusalOf } from "./support/topology.ts";

Deno.test("assertNewName() refuses reserved names with RabbitMQ's text", () => {
  assertEquals(
    refusalOf(() => assertNewName("queue", "amq.mine")),
    "403 ACCESS_REFUSED - queue name 'amq.mine' contains reserved prefix 'amq.*'",
  );
  assertEquals(
    refusalOf(() => assertNewName("exchange", "amq.")),
    "403 ACCESS_REFUSED - exchange name 'amq.' contains reserved prefix 'amq.*'",
  );
  assertNewName("queue", "amq");
  assertNewName("queue", "my.amq.queue");
});

Deno.test("assertFits() counts bytes, not characters", () => {
  assertFits("queue name", "é".repeat(127));
  assertEquals(
    refusalOf(() => assertFits("queue name", "é".repeat(128))),
    "406 PRECONDITION_FAILED - queue name is longer than 255 bytes",
  );
  assertFits("queue name", "q".repeat(255));
});

Deno.test("utf8Bytes() agrees with the encoder for any text", () => {
  const encoder = new TextEncoder();
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assertEquals(utf8Bytes(text), encoder.encode(text).length);
    }),
    { seed: 11 },
  );
  for (const text of ["\ud800", "\ud800x", "\udc00\ud800", "x\udbff\udfff\ud83d", "\ud83d\ude00"]) {
    assertEquals(utf8Bytes(text), encoder.encode(text).length);
  }
});

Deno.test("assertNotInternal() refuses names of retry queues only", () => {
  assertEquals(
    refusalOf(() => assertNotInternal("amq.retry-q", "/")),
    "403 ACCESS_REFUSED - access to internal queue 'amq.retry-q' in vhost '/' refused",
  );
  assertNotInternal("amq.retry", "/");
  assertNotInternal("retry-q", "/");
});

Deno.test("retryQueueName() leaves room for the prefix in 255 bytes", () => {
  assertEquals(retryQueueName("q"), "amq.retry-q");
  assert(isRetryQueueName(retryQueueName("")));
  assertEquals(utf8Bytes(retryQueueName("q".repeat(RETRIED_NAME_BYTES_MAX))), 255);
});

Deno.test("withoutLineBreaks() drops carriage returns and line feeds", () => {
  assertEquals(withoutLineBreaks("a\r\nb\n"), "ab");
  assertEquals(withoutLineBreaks("a b"), "a b");
});

Deno.test("describe() spells an entity as RabbitMQ does", () => {
  assertEquals(describe("queue", "q", "/"), "queue 'q' in vhost '/'");
});

Deno.test("generateQueueName() takes 128 bits from the given randomness", () => {
  const prng = new Prng(7);
  const name = generateQueueName(() => prng.nextFloat());
  assertMatch(name, /^amq\.gen-[A-Za-z0-9_-]{22}$/);
  assertNotEquals(generateQueueName(() => prng.nextFloat()), name);
  assertEquals(generateQueueName(() => 0), "amq.gen-" + "A".repeat(22));
  const highest = generateQueueName(() => 0.999999);
  assertEquals(highest, "amq.gen-" + "_".repeat(21) + "w");
});
