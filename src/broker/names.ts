// Names of queues and exchanges, and the parts of a declaration: which names may be declared, which are
// reserved, and how errors write them. The registries of a vhost call it, and the queue for the name of
// its retry queue. Texts follow RabbitMQ, because clients match on them. Nothing is looked up here.

import { ChannelError } from "../amqp/errors.ts";
import { ACCESS_REFUSED, PRECONDITION_FAILED } from "../amqp/reply_code.ts";
import type { FieldTable } from "../amqp/field_value.ts";

/** What kind of thing a name names: what a binding leads to, what a declaration makes. */
export type DestinationType = "queue" | "exchange";

/** Identity of a connection, compared by reference. An exclusive queue belongs to one. */
export interface Owner {
  readonly name: string;
}

/** The arguments of queue.declare. */
export interface QueueSpec {
  /** Empty for a name that the server generates. */
  readonly name: string;
  readonly durable: boolean;
  readonly exclusive: boolean;
  readonly autoDelete: boolean;
  readonly args: FieldTable;
}

/** The arguments of exchange.declare. */
export interface ExchangeSpec {
  readonly name: string;
  readonly type: string;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly args: FieldTable;
}

/** Maximum bytes of a name or routing key: the length of an AMQP short string. */
export const NAME_BYTES_MAX = 255;
/** Prefix of names that clients may not declare. */
export const RESERVED_PREFIX = "amq.";
/** Prefix of the internal queue of a retry-enabled queue (docs/automatic-retries.md). */
export const RETRY_PREFIX = "amq.retry-";
/** Maximum bytes of the name of a retry-enabled queue, so that its prefixed name fits. */
export const RETRIED_NAME_BYTES_MAX: number = NAME_BYTES_MAX - RETRY_PREFIX.length;

/** RabbitMQ's pseudo-queue for replies without a queue. */
export const REPLY_QUEUE = "amq.rabbitmq.reply-to";

const GENERATED_PREFIX = "amq.gen-";
const GENERATED_BYTES = 16;
/** The letters of base64url, of which generated names are made. */
export const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Returns the name of the internal retry queue of the queue `name`. */
export function retryQueueName(name: string): string {
  return RETRY_PREFIX + name;
}

/** Whether a name belongs to an internal retry queue, which no client may touch. */
export function isRetryQueueName(name: string): boolean {
  return name.startsWith(RETRY_PREFIX);
}

/** Returns a queue or exchange as errors write it: `queue 'q' in vhost '/'`. */
export function describe(kind: DestinationType, name: string, vhost: string): string {
  return `${kind} '${name}' in vhost '${vhost}'`;
}

/** Returns a declared name without line breaks: RabbitMQ removes them instead of refusing the name. */
export function withoutLineBreaks(name: string): string {
  return name.includes("\n") || name.includes("\r") ? name.replaceAll(/[\r\n]/g, "") : name;
}

/** Returns the bytes of a text as UTF-8; a lone surrogate counts as the U+FFFD that replaces it. */
export function utf8Bytes(text: string): number {
  let byteCount = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    byteCount += unit < 0x800 ? 1 : 2;
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    // A surrogate pair has four bytes: the two units counted already and two more.
    if (next >= 0xdc00 && next <= 0xdfff) i += 1;
  }
  return byteCount;
}

/** Refuses a name that clients may not create: 403 if it is reserved, 406 if it is too long. */
export function assertNewName(kind: DestinationType, name: string): void {
  if (name.startsWith(RESERVED_PREFIX)) {
    const detail = `${kind} name '${name}' contains reserved prefix 'amq.*'`;
    throw new ChannelError(ACCESS_REFUSED, detail);
  }
  assertFits(`${kind} name`, name);
}

/** Refuses a text that does not fit a short string; only callers other than AMQP clients can give one. */
export function assertFits(what: string, text: string): void {
  if (utf8Bytes(text) <= NAME_BYTES_MAX) return;
  throw new ChannelError(PRECONDITION_FAILED, `${what} is longer than ${NAME_BYTES_MAX} bytes`);
}

/** Refuses a client's operation on an internal retry queue. */
export function assertNotInternal(name: string, vhost: string): void {
  if (!isRetryQueueName(name)) return;
  const detail = `access to internal ${describe("queue", name, vhost)} refused`;
  throw new ChannelError(ACCESS_REFUSED, detail);
}

/**
 * Returns a new server-generated name: `amq.gen-` and 128 random bits. `random` returns numbers in
 * [0, 1).
 */
export function generateQueueName(random: () => number): string {
  let name = GENERATED_PREFIX;
  let bits = 0;
  let bitCount = 0;
  for (let i = 0; i < GENERATED_BYTES; i++) {
    bits = (bits << 8) | Math.floor(random() * 256);
    bitCount += 8;
    while (bitCount >= 6) {
      bitCount -= 6;
      name += BASE64URL[(bits >>> bitCount) & 63]!;
    }
    bits &= 63;
  }
  return name + BASE64URL[(bits << (6 - bitCount)) & 63]!;
}
