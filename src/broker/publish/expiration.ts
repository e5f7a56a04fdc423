// The `expiration` property: a time to live in ms as decimal text. A publish reads it in place; the
// queue decides when the message expires.

import { ChannelError } from "../../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import { decodeText } from "../../lib/text.ts";
import { EXPIRY_MS_MAX } from "../arguments/validators.ts";

const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;
const PLUS = 0x2b;

/**
 * Reads `bytes[start, end)` as whole ms; a plus sign is allowed.
 * @throws ChannelError 406 for anything but 0 to ten years
 */
export function parseExpiration(bytes: Uint8Array, start: number, end: number): number {
  const digitsStart = bytes[start] === PLUS && start < end ? start + 1 : start;
  let valueMs = 0;
  for (let at = digitsStart; at < end; at++) {
    const digit = bytes[at]!;
    if (digit < ZERO || digit > NINE) throw invalid(bytes, start, end);
    valueMs = valueMs * 10 + digit - ZERO;
  }
  if (end === digitsStart || valueMs > EXPIRY_MS_MAX) throw invalid(bytes, start, end);
  return valueMs;
}

// The reasons are written as RabbitMQ prints Erlang terms, because clients match on the text.
function invalid(bytes: Uint8Array, start: number, end: number): ChannelError {
  const text = decodeText(bytes, start, end);
  return new ChannelError(PRECONDITION_FAILED, `invalid expiration '${text}': ${reasonOf(text)}`);
}

function reasonOf(text: string): string {
  const digits = /^[+-]?\d+/.exec(text)?.[0];
  if (digits === undefined) return "no_integer";
  if (digits.length < text.length) return `{leftover_string,<<"${text.slice(digits.length)}">>}`;
  const rule = text.charCodeAt(0) === MINUS ? "value_negative" : "value_too_large";
  return `{${rule},${BigInt(text)}}`;
}
