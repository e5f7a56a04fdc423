// A small AMQP client for tests: says anything, also what is not allowed, and keeps whatever comes
// back as objects. Works over any wire that takes bytes at once; every call is synchronous.

import { ContentHeader } from "../../src/amqp/content_header.ts";
import type { FieldTable } from "../../src/amqp/field_value.ts";
import { booleanField } from "../../src/amqp/field_value.ts";
import { FRAME_BODY, FRAME_END, FRAME_HEADER, FRAME_METHOD } from "../../src/amqp/frame.ts";
import { FRAME_OVERHEAD, PROTOCOL_HEADER } from "../../src/amqp/frame.ts";
import { FrameParser } from "../../src/amqp/frame_parser.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import type { Properties } from "../../src/amqp/properties.ts";
import { decodeProperties, writeProperties } from "../../src/amqp/properties.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import { decodeText, encodeText } from "../../src/lib/text.ts";
import { ClientChannel } from "./client_channel.ts";
import type { WireClient } from "./memory_wire.ts";

/** One method that came from the server, with its content if it has any. */
export interface Incoming {
  readonly channel: number;
  readonly key: number;
  readonly name: string;
  // deno-lint-ignore no-explicit-any
  readonly args: any;
  properties?: Properties;
  /** The same as they came. */
  propertyBytes?: Uint8Array;
  body?: Uint8Array;
}

/** What the client uses to reach the server. */
export interface ClientWire {
  send(bytes: Uint8Array): void;
  drop(): void;
  stopReading(): void;
  read(): void;
}

/** How to log in and what to agree to. */
export interface LoginOptions {
  user?: string;
  password?: string;
  vhost?: string;
  mechanism?: string;
  response?: Uint8Array;
  capabilities?: string[];
  channelMax?: number;
  frameMax?: number;
  heartbeat?: number;
}

/** Every capability a client can have. */
const ALL_CAPABILITIES = [
  "authentication_failure_close",
  "consumer_cancel_notify",
  "connection.blocked",
  "basic.nack",
  "publisher_confirms",
];

/** A client; `wire` is given by whoever connects it. */
export class AmqpClient implements WireClient {
  wire!: ClientWire;
  /** Everything that came and was not taken, oldest first. */
  readonly inbox: Incoming[] = [];
  /** Sizes of the body frames that came, for tests of frame_max. */
  readonly bodyFrameBytes: number[] = [];
  /** The same for content header frames, with their envelopes. */
  readonly headerFrameBytes: number[] = [];
  heartbeatCount = 0;
  receivedBytes = 0;
  /** Bytes that came before any frame: the server's protocol header. */
  headerReply = "";
  isClosed = false;
  frameMax = 131_072;
  #parser = new FrameParser();
  readonly #contents = new Map<
    number,
    { incoming: Incoming; missing: number; parts: Uint8Array[] }
  >();
  #nextChannel = 1;

  // --- from the server

  received(bytes: Uint8Array): void {
    this.receivedBytes += bytes.length;
    if (this.receivedBytes === bytes.length && bytes[0] === PROTOCOL_HEADER[0]) {
      this.headerReply = decodeText(bytes, 0, bytes.length);
      return;
    }
    this.#parser.push(bytes, 0, bytes.length);
    while (this.#parser.next()) this.#frame();
  }

  closed(): void {
    this.isClosed = true;
  }

  #frame(): void {
    const { type, channel, buffer, payloadStart, payloadEnd } = this.#parser;
    if (type === FRAME_METHOD) this.#method(channel, buffer, payloadStart, payloadEnd);
    else if (type === FRAME_HEADER) {
      this.headerFrameBytes.push(payloadEnd - payloadStart + FRAME_OVERHEAD);
      this.#header(channel, buffer, payloadStart, payloadEnd);
    } else if (type === FRAME_BODY) {
      this.bodyFrameBytes.push(payloadEnd - payloadStart);
      this.#body(channel, buffer.slice(payloadStart, payloadEnd));
    } else this.heartbeatCount++;
  }

  #method(channel: number, bytes: Uint8Array, start: number, end: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const key = view.getUint32(start);
    const codec = M.METHODS.get(key)!;
    const incoming = { channel, key, name: codec.name, args: codec.decode(bytes, start + 4, end) };
    if (codec.hasContent) this.#contents.set(channel, { incoming, missing: -1, parts: [] });
    else this.arrived(incoming);
  }

  /** A method is complete with its content; kept in the inbox unless a test has other plans. */
  arrived(incoming: Incoming): void {
    this.inbox.push(incoming);
  }

  #header(channel: number, bytes: Uint8Array, start: number, end: number): void {
    const header = new ContentHeader();
    header.read(bytes, start, end);
    const content = this.#contents.get(channel)!;
    const { propertiesStart, propertiesEnd } = header;
    content.incoming.properties = decodeProperties(bytes, propertiesStart, propertiesEnd);
    content.incoming.propertyBytes = bytes.slice(propertiesStart, propertiesEnd);
    content.missing = header.bodyByteCount;
    this.#finish(channel);
  }

  #body(channel: number, part: Uint8Array): void {
    const content = this.#contents.get(channel)!;
    content.parts.push(part);
    content.missing -= part.length;
    this.#finish(channel);
  }

  #finish(channel: number): void {
    const content = this.#contents.get(channel)!;
    if (content.missing > 0) return;
    if (content.missing < 0) throw new Error("a body is longer than its header said");
    this.#contents.delete(channel);
    content.incoming.body = joined(content.parts);
    this.arrived(content.incoming);
  }

  /** Takes the oldest message of this method on this channel, or undefined. */
  take(key: number, channel: number): Incoming | undefined {
    const index = this.inbox.findIndex((one) => one.key === key && one.channel === channel);
    return index < 0 ? undefined : this.inbox.splice(index, 1)[0];
  }

  /** Like `take`, but it must be there. */
  expect(key: number, channel: number): Incoming {
    const found = this.take(key, channel);
    if (found !== undefined) return found;
    const wanted = M.METHODS.get(key)!.name;
    throw new Error(`no ${wanted} on channel ${channel}, but: ${this.describe()}`);
  }

  /** What is in the inbox, for messages of failed tests. */
  describe(): string {
    const texts = this.inbox.map(({ channel, name, args }) => {
      const text = args.replyText === undefined ? "" : ` ${args.replyText}`;
      return `${channel}:${name}${text}`;
    });
    return texts.length === 0 ? "nothing" : texts.join(", ");
  }

  // --- to the server

  /** Sends bytes as they are. */
  raw(bytes: Uint8Array): void {
    this.wire.send(bytes);
  }

  /** Sends one method. */
  send(key: number, channel: number, args: object = {}): void {
    this.raw(methodFrame(key, channel, args));
  }

  /** Sends one method and takes the answer, which must be there at once. */
  rpc(key: number, channel: number, args: object, answer: number): Incoming {
    this.send(key, channel, args);
    return this.expect(answer, channel);
  }

  /** Connects and logs in. */
  login(options: LoginOptions = {}): this {
    this.greet(options);
    const tune = this.expect(M.CONNECTION_TUNE, 0).args as M.ConnectionTune;
    const {
      channelMax = tune.channelMax,
      frameMax = tune.frameMax,
      heartbeat = 0,
      vhost = "/",
    } = options;
    this.send(M.CONNECTION_TUNE_OK, 0, { channelMax, frameMax, heartbeat });
    this.frameMax = frameMax;
    this.rpc(M.CONNECTION_OPEN, 0, { virtualHost: vhost }, M.CONNECTION_OPEN_OK);
    return this;
  }

  /** Sends the protocol header and start-ok. */
  greet(options: LoginOptions = {}): void {
    const { user = "guest", password = "guest", mechanism = "PLAIN" } = options;
    this.raw(PROTOCOL_HEADER);
    this.expect(M.CONNECTION_START, 0);
    this.send(M.CONNECTION_START_OK, 0, {
      clientProperties: clientProperties(options.capabilities ?? ALL_CAPABILITIES),
      mechanism,
      response: options.response ?? encodeText(`\0${user}\0${password}`),
      locale: "en_US",
    });
  }

  /** Opens a channel. */
  channel(number: number = this.#nextChannel): ClientChannel {
    this.#nextChannel = Math.max(this.#nextChannel, number + 1);
    this.rpc(M.CHANNEL_OPEN, number, {}, M.CHANNEL_OPEN_OK);
    return new ClientChannel(this, number);
  }

  /** Closes in good order, and then the stream. */
  close(): void {
    this.sayClose();
    this.wire.drop();
  }

  /** Closes in good order and leaves the stream open. */
  sayClose(): void {
    const args = { replyCode: 200, replyText: "bye", classId: 0, methodId: 0 };
    this.rpc(M.CONNECTION_CLOSE, 0, args, M.CONNECTION_CLOSE_OK);
  }

  /** Answers connection.close and returns what it said. */
  takeClose(): M.ConnectionClose {
    const { args } = this.expect(M.CONNECTION_CLOSE, 0);
    this.send(M.CONNECTION_CLOSE_OK, 0);
    return args as M.ConnectionClose;
  }
}

function clientProperties(capabilities: string[]): FieldTable {
  const table = new Map(capabilities.map((name) => [name, booleanField(true)]));
  return new Map([["capabilities", { tag: "F", value: table }]]);
}

/** Bytes of one method frame. */
export function methodFrame(key: number, channel: number, args: object = {}): Uint8Array {
  const out = new ByteWriter();
  M.METHODS.get(key)!.write(out, channel, args);
  return out.copy();
}

/** Bytes of one frame of any type. */
export function frame(type: number, channel: number, payload: Uint8Array): Uint8Array {
  const out = new ByteWriter();
  out.u8(type);
  out.u16(channel);
  out.u32(payload.length);
  out.all(payload);
  out.u8(FRAME_END);
  return out.copy();
}

/** Bytes of a content header frame. */
export function headerFrame(
  channel: number,
  bodyBytes: number,
  properties: Properties = {},
  classId = 60,
): Uint8Array {
  const out = new ByteWriter();
  out.u16(classId);
  out.u16(0);
  out.u64(bodyBytes);
  writeProperties(out, properties);
  return frame(FRAME_HEADER, channel, out.copy());
}

/** Bytes of a content: header and body frames of at most `payloadMax` bytes. */
export function contentFrames(
  channel: number,
  body: Uint8Array,
  properties: Properties,
  payloadMax: number,
): Uint8Array {
  const frames = [headerFrame(channel, body.length, properties)];
  for (let at = 0; at < body.length; at += payloadMax) {
    frames.push(frame(FRAME_BODY, channel, body.subarray(at, at + payloadMax)));
  }
  return joined(frames);
}

/** Byte arrays one after the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const out = new ByteWriter();
  for (const part of parts) out.all(part);
  return out.copy();
}
