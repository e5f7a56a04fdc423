// Protocol errors as exceptions. The codec and handlers throw them. The session catches them and
// turns them into connection.close or channel.close. They describe a client's mistake or a refusal;
// bugs of ours are AssertionError (src/lib/assert.ts).

import { cutText } from "../lib/text.ts";
import { replyCodeName, SYNTAX_ERROR } from "./reply_code.ts";

const REPLY_TEXT_BYTES_MAX = 255;

/**
 * Returns the text of a close: `NAME - detail` as RabbitMQ writes it, cut to the length of a short
 * string.
 */
export function replyText(code: number, detail: string): string {
  return cutText(`${replyCodeName(code)} - ${detail}`, REPLY_TEXT_BYTES_MAX);
}

/**
 * The common part of connection and channel errors: a reply code, its text and the method to blame.
 */
export class AmqpError extends Error {
  /** The reply code. */
  readonly code: number;
  /** The text without the code name, uncut. */
  readonly detail: string;
  /** The text for the close method: `NAME - detail`, at most 255 bytes. */
  readonly replyText: string;
  /** Class of the method to blame, 0 if none. */
  readonly classId: number;
  /** Method to blame, 0 if none. */
  readonly methodId: number;

  /** Creates the error. `detail` is RabbitMQ's text without the leading code name. */
  constructor(code: number, detail: string, classId = 0, methodId = 0) {
    const text = replyText(code, detail);
    super(text);
    this.name = new.target.name;
    this.code = code;
    this.detail = detail;
    this.replyText = text;
    this.classId = classId;
    this.methodId = methodId;
  }
}

/** A hard error: the session answers with connection.close. */
export class ConnectionError extends AmqpError {}

/** A soft error: the session answers with channel.close. */
export class ChannelError extends AmqpError {}

/** Returns a hard 502 for bytes that do not decode. */
export function syntaxError(detail: string): ConnectionError {
  return new ConnectionError(SYNTAX_ERROR, detail);
}
