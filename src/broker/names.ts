// Names of queues and exchanges and what a declaration consists of: what may be declared, what is
// reserved, how errors spell it. Called by the registries of a vhost and by the queue for its retry
// queue's name. Texts follow RabbitMQ, because clients match on them; nothing is looked up here.

import { ChannelError } from "../amqp/errors.ts";
import { ACCESS_REFUSED, PRECONDITION_FAILED } from "../amqp/reply_code.ts";
import type { FieldTable } from "../amqp/field_value.ts";
import type { DestinationType } from "./binding.ts";

/** Identity of a connection: exclusive queues belong to one. Compared by reference. */
export interface Owner {
  readonly name: string;
}

/** What queue.declare asks for. */
export interface QueueSpec {
  /** Empty for a name made by the server. */
  readonly name: string;
  readonly durable: boolean;
  readonly exclusive: boolean;
  readonly autoDelete: boolean;
  readonly args: FieldTable;
}

/** What exchange.declare asks for. */
export interface ExchangeSpec {
  readonly name: string;
  readonly type: string;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  readonly internal: boolean;
  readonly args: FieldTable;
}

/** Most bytes of a name or routing key: an AMQP short string. */
export const NAME_BYTES_MAX = 255;
/** How names begin that clients may not declare. */
export const RESERVED_PREFIX = "amq.";
/** How the internal queue of a retry-enabled queue is named (docs/automatic-retries.md). */
export const RETRY_PREFIX = "amq.retry-";
/** Most bytes of the name of a retry-enabled queue: the prefix must fit before it. */
export const RETRIED_NAME_BYTES_MAX: number = NAME_BYTES_MAX - RETRY_PREFIX.length;

const GENERATED_PREFIX = "amq.gen-";
const GENERATED_BYTES = 16;
const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Name of the internal queue that belongs to the queue `name`. */
export function retryQueueName(name: string): string {
  return RETRY_PREFIX + name;
}

/** Whether a name is one of internal retry queues, which no client may touch. */
export function isRetryQueueName(name: string): boolean {
  return name.startsWith(RETRY_PREFIX);
}

/** How errors spell a queue or exchange: `queue 'q' in vhost '/'`. */
export function describe(kind: DestinationType, name: string, vhost: string): string {
  return `${kind} '${name}' in vhost '${vhost}'`;
}

/** A declared name without line breaks, which RabbitMQ drops instead of refusing. */
export function withoutLineBreaks(name: string): string {
  return name.includes("\n") || name.includes("\r") ? name.replaceAll(/[\r\n]/g, "") : name;
}

/** Bytes of a text as UTF-8; a lone surrogate counts as the U+FFFD it would become. */
export function utf8Bytes(text: string): number {
  let byteCount = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    byteCount += unit < 0x800 ? 1 : 2;
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    // A pair takes four bytes: the two units already counted and two more.
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

/** Refuses a text that no short string could hold; only callers other than clients can give one. */
export function assertFits(what: string, text: string): void {
  if (utf8Bytes(text) <= NAME_BYTES_MAX) return;
  throw new ChannelError(PRECONDITION_FAILED, `${what} is longer than ${NAME_BYTES_MAX} bytes`);
}

/** Refuses every operation of a client on an internal retry queue. */
export function assertNotInternal(name: string, vhost: string): void {
  if (!isRetryQueueName(name)) return;
  const detail = `access to internal ${describe("queue", name, vhost)} refused`;
  throw new ChannelError(ACCESS_REFUSED, detail);
}

/** A new server-generated name: `amq.gen-` and 128 random bits; `random` gives numbers in [0, 1). */
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
