// Micro-benchmark of the wire layer: how many published messages per second are parsed, and how many
// messages are written, with 16-byte bodies. Run it with any runtime; it prints one line per
// measurement: the best run, for a machine that does other work too, and the median. No sockets.

import { ContentHeader } from "../../src/amqp/content_header.ts";
import { fieldTableFrom } from "../../src/amqp/field_json.ts";
import { FRAME_BODY, FRAME_HEADER, FRAME_METHOD } from "../../src/amqp/frame.ts";
import { FrameParser } from "../../src/amqp/frame_parser.ts";
import { OutgoingMessage, writeContent, writeGetOk } from "../../src/amqp/hot_frames.ts";
import { PublishArguments } from "../../src/amqp/hot_methods.ts";
import { METHOD_KEY_BYTES, readMethodKey } from "../../src/amqp/method_frame.ts";
import { BASIC_PUBLISH, writeBasicPublish } from "../../src/amqp/methods_gen.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { writeProperties } from "../../src/amqp/properties.ts";
import { RawProperties } from "../../src/amqp/raw_properties.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";

const RUNS = 15;
const MESSAGES = 200_000;
const CHUNK_BYTES = 65536;
const STREAM_MESSAGES = 20_000;

function outgoing(properties: Properties): OutgoingMessage {
  const out = new ByteWriter();
  const message = new OutgoingMessage();
  out.shortString("");
  out.shortString("perf-test");
  message.addressEnd = message.propertiesStart = out.byteCount;
  writeProperties(out, properties);
  message.propertiesEnd = message.bodyStart = out.byteCount;
  out.all(new Uint8Array(16));
  message.bodyEnd = out.byteCount;
  message.address = message.properties = message.body = out.bytes;
  message.channel = 1;
  return message;
}

function publishStream(properties: Properties): Uint8Array {
  const out = new ByteWriter();
  const message = outgoing(properties);
  for (let i = 0; i < STREAM_MESSAGES; i++) {
    writeBasicPublish(out, 1, { routingKey: "perf-test" });
    writeContent(out, message);
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

function answer(message: OutgoingMessage): number {
  const out = new ByteWriter(CHUNK_BYTES * 2);
  let byteCount = 0;
  for (let i = 1; i <= MESSAGES; i++) {
    message.deliveryTag = i;
    writeGetOk(out, message, 1);
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
measure("write get-ok, no properties", answer.bind(null, outgoing(PLAIN)));
measure("write get-ok, three headers", answer.bind(null, outgoing(HEADERS)));
const counted = outgoing(HEADERS);
counted.deliveryCount = 2;
measure("write get-ok, x-delivery-count set", answer.bind(null, counted));
