// Constants of framing, the protocol header and the checks of a frame's envelope. The frame parser,
// the encoders and the session's handshake use them. The policy of sending (how large, how often)
// is not here.

import { ConnectionError } from "./errors.ts";
import { FRAME_ERROR } from "./reply_code.ts";

/** Frame type: a method. */
export const FRAME_METHOD = 1;
/** Frame type: a content header. */
export const FRAME_HEADER = 2;
/** Frame type: a piece of a content body. */
export const FRAME_BODY = 3;
/** Frame type: a heartbeat. */
export const FRAME_HEARTBEAT = 8;
/** The octet that ends every frame. */
export const FRAME_END = 0xce;
/** Bytes of a frame around its payload: type, channel, size and end octet. */
export const FRAME_OVERHEAD = 8;
/** Bytes before the payload. */
export const FRAME_HEADER_BYTES = 7;
/** The smallest frame_max that may be negotiated, bytes. */
export const FRAME_MAX_MIN = 4096;
/** The frame_max that the broker offers, and accepts before tune-ok, bytes: 128 KiB. */
export const FRAME_MAX_DEFAULT = 131072;
/** The class of content headers: basic. */
export const BASIC_CLASS = 60;

/**
 * The first bytes of a client: `AMQP 0 0 9 1`. They are also the answer to anything else. Never
 * write to the array.
 */
export const PROTOCOL_HEADER: Uint8Array = Uint8Array.of(0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1);

/** The state of a client's protocol header. */
export type HeaderState = "pending" | "accepted" | "refused";

/**
 * Matches the protocol header, however it is split. There is one per connection, until it has
 * decided.
 */
export class ProtocolHeaderMatcher {
  /** `pending` until enough bytes came; `refused` at the first wrong byte. */
  state: HeaderState = "pending";
  #matched = 0;

  /** Takes bytes from `bytes[start, end)` and returns how many belonged to the header. */
  offer(bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    while (at < end && this.state === "pending") {
      if (bytes[at] !== PROTOCOL_HEADER[this.#matched]) {
        this.state = "refused";
        break;
      }
      at += 1;
      this.#matched += 1;
      if (this.#matched === PROTOCOL_HEADER.length) this.state = "accepted";
    }
    return at - start;
  }
}

/** Whether `type` is one of the four frame types of 0-9-1. */
export function isFrameType(type: number): boolean {
  return type === FRAME_METHOD || type === FRAME_HEADER || type === FRAME_BODY ||
    type === FRAME_HEARTBEAT;
}

const SNIPPET_BYTES_MAX = 16;

/**
 * Returns `bytes[start, end)` as RabbitMQ's frame errors show payloads: the first 16 octets at
 * most.
 */
export function payloadSnippet(bytes: Uint8Array, start: number, end: number): string {
  const isWhole = end - start <= SNIPPET_BYTES_MAX;
  const shown = bytes.subarray(start, isWhole ? end : start + SNIPPET_BYTES_MAX);
  return `${isWhole ? "all" : `first ${SNIPPET_BYTES_MAX}`} octets = <<${shown.join(",")}>>`;
}

/** Returns a 501 for a type that does not exist. The payload is not waited for. */
export function unknownFrame(type: number): ConnectionError {
  return new ConnectionError(FRAME_ERROR, `type ${type}, all octets = <<>>: unknown_frame`);
}

/**
 * Returns a 501 for a frame over the negotiated size. Like RabbitMQ, it does not wait for the
 * payload.
 */
export function frameTooLarge(
  type: number,
  payloadByteCount: number,
  frameMax: number,
): ConnectionError {
  const error = `{frame_too_large,${payloadByteCount},${frameMax - FRAME_OVERHEAD}}`;
  return new ConnectionError(FRAME_ERROR, `type ${type}, all octets = <<>>: ${error}`);
}

/** Returns a 501 for a frame that does not end in 0xCE. */
export function badFrameEnd(type: number, snippet: string, end: number): ConnectionError {
  const error = `{invalid_frame_end_marker,${end}}`;
  return new ConnectionError(FRAME_ERROR, `type ${type}, ${snippet}: ${error}`);
}
