// Reads the arguments of the methods that come once per message (basic.publish, ack, nack, reject)
// in place, into a record that the channel reuses. The session calls it for every such frame. It
// allocates nothing and decodes no text.

import { readU64 } from "../lib/bytes.ts";
import { ConnectionError } from "./errors.ts";
import { BASIC_ACK, BASIC_NACK, BASIC_PUBLISH, BASIC_REJECT } from "./methods_gen.ts";
import { SYNTAX_ERROR } from "./reply_code.ts";

/**
 * Arguments of basic.publish as ranges of the frame's buffer. Names are not checked to be UTF-8.
 */
export class PublishArguments {
  /** Where the exchange's name begins. */
  exchangeStart = 0;
  /** Where the exchange's name ends. */
  exchangeEnd = 0;
  /** Where the routing key begins. */
  routingKeyStart = 0;
  /** Where the routing key ends. */
  routingKeyEnd = 0;
  /** Whether an unroutable message comes back. */
  mandatory = false;
  /** Whether a message without a consumer comes back. */
  immediate = false;

  /** Reads the arguments from `bytes[start, end)`. */
  read(bytes: Uint8Array, start: number, end: number): void {
    // ticket u16 | exchange shortstr | routing key shortstr | bits u8
    const exchangeStart = start + 3;
    if (exchangeStart > end) throw malformed(BASIC_PUBLISH);
    const exchangeEnd = exchangeStart + bytes[start + 2]!;
    if (exchangeEnd >= end) throw malformed(BASIC_PUBLISH);
    const routingKeyStart = exchangeEnd + 1;
    const routingKeyEnd = routingKeyStart + bytes[exchangeEnd]!;
    if (routingKeyEnd + 1 !== end) throw malformed(BASIC_PUBLISH);
    const bits = bytes[routingKeyEnd]!;
    this.exchangeStart = exchangeStart;
    this.exchangeEnd = exchangeEnd;
    this.routingKeyStart = routingKeyStart;
    this.routingKeyEnd = routingKeyEnd;
    this.mandatory = (bits & 1) !== 0;
    this.immediate = (bits & 2) !== 0;
  }
}

/** Arguments of basic.ack, basic.nack and basic.reject. */
export class SettleArguments {
  /** The delivery tag. A tag beyond 2^53 is rounded and so matches no delivery. */
  deliveryTag = 0;
  /** Whether all deliveries up to the tag are meant; always false for reject. */
  multiple = false;
  /** Whether the messages go back to the queue; always false for ack. */
  requeue = false;

  #read(bytes: Uint8Array, start: number, end: number, methodKey: number): number {
    if (end - start !== 9) throw malformed(methodKey);
    this.deliveryTag = readU64(bytes, start);
    return bytes[start + 8]!;
  }

  /** Reads basic.ack from `bytes[start, end)`. */
  readAck(bytes: Uint8Array, start: number, end: number): void {
    const bits = this.#read(bytes, start, end, BASIC_ACK);
    this.multiple = (bits & 1) !== 0;
    this.requeue = false;
  }

  /** Reads basic.nack from `bytes[start, end)`. */
  readNack(bytes: Uint8Array, start: number, end: number): void {
    const bits = this.#read(bytes, start, end, BASIC_NACK);
    this.multiple = (bits & 1) !== 0;
    this.requeue = (bits & 2) !== 0;
  }

  /** Reads basic.reject from `bytes[start, end)`. */
  readReject(bytes: Uint8Array, start: number, end: number): void {
    const bits = this.#read(bytes, start, end, BASIC_REJECT);
    this.multiple = false;
    this.requeue = (bits & 1) !== 0;
  }
}

function malformed(methodKey: number): ConnectionError {
  const detail = "method is truncated or has surplus bytes";
  return new ConnectionError(SYNTAX_ERROR, detail, methodKey >>> 16, methodKey & 0xffff);
}
