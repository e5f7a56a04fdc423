// Headers of dead letters over the wire: what is not the broker's to change comes through byte for byte,
// and a history that would make the header too large for any client loses its oldest deaths.

import { assert, assertEquals } from "@std/assert";
import type { FieldTable, FieldValue } from "../../src/amqp/field_value.ts";
import { textField, textOf } from "../../src/amqp/field_value.ts";
import { FRAME_BODY, FRAME_HEADER } from "../../src/amqp/frame.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import { encodeText } from "../../src/lib/text.ts";
import { frame, joined, methodFrame } from "../support/amqp_client.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { TestNode } from "../support/test_node.ts";

const HEADERS_FLAG = 0x2000;

/** One entry of a raw table: its key and its value, type tag first. */
function rawEntry(key: Uint8Array, value: readonly number[]): Uint8Array {
  return Uint8Array.of(key.length, ...key, ...value);
}

function prefixed(tag: string, content: Uint8Array): number[] {
  const out = new ByteWriter();
  out.u8(tag.charCodeAt(0));
  out.longString(content);
  return [...out.copy()];
}

function named(name: string, value: readonly number[]): Uint8Array {
  return rawEntry(encodeText(name), value);
}

const SIGNALLING_DOUBLE = [0x64, 0x7f, 0xf4, 0, 0, 0, 0, 0, 0x0b];
const SIGNALLING_FLOAT = [0x66, 0xff, 0xa0, 0x12, 0x34];
// Nothing of this survives being decoded and encoded again.
const ODD: readonly Uint8Array[] = [
  named("double", SIGNALLING_DOUBLE),
  named("float", SIGNALLING_FLOAT),
  named("true", [0x74, 2]),
  rawEntry(Uint8Array.of(0xff, 0xfe), [0x56]),
  named(
    "table",
    prefixed("F", joined([named("twice", [0x62, 1]), named("twice", SIGNALLING_FLOAT)])),
  ),
];

/** An entry of `x-death` as a client may have written it, with values that are its own. */
function foreignDeath(queue: string, count: number, time: readonly number[]): Uint8Array {
  return joined([
    named("count", [0x6c, 0, 0, 0, 0, 0, 0, 0, count]),
    ODD[0]!,
    named("reason", prefixed("S", encodeText("rejected"))),
    named("queue", prefixed("S", encodeText(queue))),
    named("time", time),
    named("exchange", prefixed("S", new Uint8Array(0))),
    named("routing-keys", prefixed("A", new Uint8Array(0))),
    ...ODD.slice(1),
  ]);
}

const TIMESTAMP = [0x54, 0, 0, 0, 0, 0, 0, 0, 9];

function historyHeader(deaths: readonly Uint8Array[]): Uint8Array {
  const tables = deaths.map((death) => Uint8Array.from(prefixed("F", death)));
  return named("x-death", prefixed("A", joined(tables)));
}

function publishRaw(channel: ClientChannel, key: string, entries: readonly Uint8Array[]): void {
  const out = new ByteWriter();
  out.u16(60);
  out.u16(0);
  out.u64(1);
  out.u16(HEADERS_FLAG);
  out.longString(joined(entries));
  channel.client.raw(joined([
    methodFrame(M.BASIC_PUBLISH, channel.number, { exchange: "", routingKey: key }),
    frame(FRAME_HEADER, channel.number, out.copy()),
    frame(FRAME_BODY, channel.number, Uint8Array.of(1)),
  ]));
}

/** Has the head of `queue` rejected for good and takes it out of `dead`. */
function deadBytes(channel: ClientChannel, queue: string): Uint8Array {
  channel.reject(channel.get(queue)!.tag, false);
  channel.send(M.BASIC_GET, { queue: "dead", noAck: true });
  return channel.client.expect(M.BASIC_GET_OK, channel.number).propertyBytes!;
}

function dyingChannel(): ClientChannel {
  const channel = new TestNode().connect().channel();
  channel.queue("dead");
  channel.queue("q", { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" });
  return channel;
}

/** Where `part` stands in `bytes`, as many times as it does. */
function occurrences(bytes: Uint8Array, part: Uint8Array): number {
  let count = 0;
  for (let at = 0; at + part.length <= bytes.length; at++) {
    if (part.every((byte, index) => bytes[at + index] === byte)) count++;
  }
  return count;
}

Deno.test("headers of a dead letter that are not the broker's come through byte for byte", () => {
  const channel = dyingChannel();
  publishRaw(channel, "q", ODD);
  assertEquals(occurrences(deadBytes(channel, "q"), joined(ODD)), 1);
});

Deno.test("deaths that others have recorded come through a further death byte for byte", () => {
  const channel = dyingChannel();
  const death = foreignDeath("elsewhere", 3, TIMESTAMP);
  publishRaw(channel, "q", [historyHeader([death])]);
  assertEquals(occurrences(deadBytes(channel, "q"), death), 1);
});

Deno.test("a death that repeats keeps the bytes of its entry but for the count and a number as time", () => {
  const channel = dyingChannel();
  publishRaw(channel, "q", [historyHeader([foreignDeath("q", 3, [0x62, 9])])]);
  const repeated = foreignDeath("q", 4, TIMESTAMP);
  assertEquals(occurrences(deadBytes(channel, "q"), repeated), 1);
});

/** The queues that a dead letter says it has died in, newest first. */
function historyOf(headers: FieldTable): string[] {
  const field = headers.get("x-death");
  if (field?.tag !== "A") return [];
  return field.value.map((entry) => entry.tag === "F" ? textOf(entry.value.get("queue"))! : "");
}

Deno.test("a dead letter whose header would be too large for any client loses its oldest deaths", () => {
  const node = new TestNode({ limits: { frameBytesMax: 8192 } });
  const channel = node.connect().channel();
  const names = Array.from({ length: 30 }, (_, index) => `${index}`.padStart(40, "q"));
  names.forEach((name, index) => {
    const next = names[index + 1] ?? "dead";
    channel.queue(name, { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": next });
  });
  channel.queue("dead");
  const headers = new Map([["filling", textField("x".repeat(5500))]]);
  channel.publish(names[0]!, "x", { properties: { headers } });
  for (const name of names) channel.reject(channel.get(name)!.tag, false);
  const dead = channel.get("dead", true)!.properties.headers!;
  const history = historyOf(dead);
  assertEquals(history, names.toReversed().slice(0, history.length));
  assert(history.length > 2 && history.length < 20, `${history.length} deaths`);
  assertEquals(textOf(dead.get("x-first-death-queue")), names[0]);
  assertEquals(dead.get("filling"), headers.get("filling"));
  const frameBytes = Math.max(...channel.client.headerFrameBytes);
  assert(frameBytes > 7500 && frameBytes <= 8192, `a header frame of ${frameBytes} bytes`);
});

Deno.test("a dead letter that is too large for its newest death alone names no keys of CC", () => {
  const node = new TestNode({ limits: { frameBytesMax: 8192 } });
  const channel = node.connect().channel();
  channel.queue("dead");
  channel.queue("q", { "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead" });
  const keys = Array.from({ length: 25 }, (_, index) => textField(`${index}`.padEnd(200, "k")));
  const headers = new Map<string, FieldValue>([["CC", { tag: "A", value: keys }]]);
  channel.publish("q", "x", { properties: { headers } });
  channel.reject(channel.get("q")!.tag, false);
  const dead = channel.get("dead", true)!;
  assertEquals(historyOf(dead.properties.headers!), ["q"]);
  assert(Math.max(...channel.client.headerFrameBytes) <= 8192);
});
