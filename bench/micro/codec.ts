// Micro-benchmark of the wire layer: how many published messages per second are parsed, and how many
// messages are written, with 16-byte bodies. Run it with any runtime; it prints one line per
// measurement: the best run, for a machine that does other work too, and the median. No sockets.

import { writeBodyFrames, writeHeaderFrame } from "../../src/amqp/content_frames.ts";
import { ContentHeader } from "../../src/amqp/content_header.ts";
import { fieldTableFrom } from "../../src/amqp/field_json.ts";
import {
  FRAME_BODY,
  FRAME_HEADER,
  FRAME_MAX_DEFAULT,
  FRAME_METHOD,
  FRAME_OVERHEAD,
} from "../../src/amqp/frame.ts";
import { FrameParser } from "../../src/amqp/frame_parser.ts";
import { PublishArguments } from "../../src/amqp/hot_methods.ts";
import { METHOD_KEY_BYTES, readMethodKey } from "../../src/amqp/method_frame.ts";
import { BASIC_PUBLISH, writeBasicPublish } from "../../src/amqp/methods_gen.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { writeProperties } from "../../src/amqp/properties.ts";
import { RawProperties } from "../../src/amqp/raw_properties.ts";
import { Delivery } from "../../src/broker/queue/delivery.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import type { Channel } from "../../src/session/channel.ts";
import { writeGetOk } from "../../src/session/message_writer.ts";

const RUNS = 15;
const MESSAGES = 200_000;
const CHUNK_BYTES = 65536;
const STREAM_MESSAGES = 20_000;

const channel = {
  number: 1,
  deliveryTag: 0,
  connection: { framePayloadMax: FRAME_MAX_DEFAULT - FRAME_OVERHEAD },
  context: { properties: new RawProperties() },
} as unknown as Channel;

function message(properties: Properties): Delivery {
  const out = new ByteWriter();
  const delivery = new Delivery();
  const { view } = delivery;
  out.shortString("");
  out.shortString("perf-test");
  view.addressEnd = view.propertiesStart = out.byteCount;
  writeProperties(out, properties);
  view.propertiesEnd = view.bodyStart = out.byteCount;
  out.all(new Uint8Array(16));
  view.bodyEnd = out.byteCount;
  view.bytes = out.bytes;
  return delivery;
}

function publishStream(properties: Properties): Uint8Array {
  const out = new ByteWriter();
  const { view } = message(properties);
  const { bytes, propertiesStart, propertiesEnd, bodyStart, bodyEnd } = view;
  for (let i = 0; i < STREAM_MESSAGES; i++) {
    writeBasicPublish(out, 1, { routingKey: "perf-test" });
    writeHeaderFrame(out, 1, bodyEnd - bodyStart, bytes, propertiesStart, propertiesEnd);
    writeBodyFrames(out, 1, FRAME_MAX_DEFAULT - FRAME_OVERHEAD, bytes, bodyStart, bodyEnd);
  }
  return out.copy();
}

const publish = new PublishArguments();
const header = new ContentHeader();
const raw = new RawProperties();

// What the session does with each frame, without a broker behind it.
function drain(parser: FrameParser): number {
  let bodyByteCount = 0;
  while (parser.next()) {
    const { buffer, payloadStart, payloadEnd } = parser;
    if (parser.type === FRAME_METHOD) {
      if (readMethodKey(buffer, payloadStart, payloadEnd) !== BASIC_PUBLISH) continue;
      publish.read(buffer, payloadStart + METHOD_KEY_BYTES, payloadEnd);
    } else if (parser.type === FRAME_HEADER) {
      header.read(buffer, payloadStart, payloadEnd);
      raw.set(buffer, header.propertiesStart, header.propertiesEnd);
      raw.check();
    } else if (parser.type === FRAME_BODY) {
      bodyByteCount += payloadEnd - payloadStart;
    }
  }
  return bodyByteCount;
}

function parse(stream: Uint8Array): number {
  const parser = new FrameParser();
  let bodyByteCount = 0;
  for (let done = 0; done < MESSAGES; done += STREAM_MESSAGES) {
    for (let at = 0; at < stream.length; at += CHUNK_BYTES) {
      parser.push(stream, at, Math.min(at + CHUNK_BYTES, stream.length));
      bodyByteCount += drain(parser);
    }
  }
  return bodyByteCount;
}

function answer(delivery: Delivery): number {
  const out = new ByteWriter(CHUNK_BYTES * 2);
  let byteCount = 0;
  for (let i = 1; i <= MESSAGES; i++) {
    channel.deliveryTag = i;
    writeGetOk(out, channel, delivery, 1);
    if (out.byteCount < CHUNK_BYTES) continue;
    byteCount += out.byteCount;
    out.reset();
  }
  return byteCount + out.byteCount;
}

function measure(name: string, run: () => number): void {
  const nsPerMessage: number[] = [];
  run();
  for (let i = 0; i < RUNS; i++) {
    const start = performance.now();
    run();
    nsPerMessage.push((performance.now() - start) * 1e6 / MESSAGES);
  }
  nsPerMessage.sort((a, b) => a - b);
  const best = nsPerMessage[0]!;
  const median = nsPerMessage[RUNS >> 1]!;
  const rate = (1000 / best).toFixed(2);
  const figures = `best ${best.toFixed(0)} ns (${rate} M/s), median ${median.toFixed(0)} ns`;
  console.log(`${name.padEnd(40)} ${figures}`);
}

const PLAIN: Properties = {};
const PERSISTENT: Properties = { contentType: "application/json", deliveryMode: 2 };
const HEADERS: Properties = {
  ...PERSISTENT,
  headers: fieldTableFrom({ tenant: "acme", attempt: 3, trace: "0af7651916cd43dd" }),
};

measure("parse publish, no properties", parse.bind(null, publishStream(PLAIN)));
measure("parse publish, content type and mode", parse.bind(null, publishStream(PERSISTENT)));
measure("parse publish, three headers", parse.bind(null, publishStream(HEADERS)));
measure("write get-ok, no properties", answer.bind(null, message(PLAIN)));
measure("write get-ok, three headers", answer.bind(null, message(HEADERS)));
const counted = message(HEADERS);
counted.deliveryCount = 2;
measure("write get-ok, x-delivery-count set", answer.bind(null, counted));
