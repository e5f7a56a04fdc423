// Tests of src/amqp/errors.ts and reply_code.ts: the text of a close and its limit. Run by every unit
// test run.

import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import {
  AmqpError,
  ChannelError,
  ConnectionError,
  replyText,
  syntaxError,
} from "../../../src/amqp/errors.ts";
import { NOT_FOUND, PRECONDITION_FAILED, replyCodeName } from "../../../src/amqp/reply_code.ts";
import { encodeText } from "../../../src/lib/text.ts";

Deno.test("ChannelError builds RabbitMQ's text when given code and detail", () => {
  const error = new ChannelError(NOT_FOUND, "no queue 'q' in vhost '/'", 50, 10);
  assertEquals(error.replyText, "NOT_FOUND - no queue 'q' in vhost '/'");
  assertEquals(error.message, error.replyText);
  assertEquals([error.code, error.classId, error.methodId], [404, 50, 10]);
  assertEquals(error.name, "ChannelError");
  assertInstanceOf(error, AmqpError);
  assert(!((error as Error) instanceof ConnectionError));
});

Deno.test("replyText() is cut to 255 bytes at a character when the detail is long", () => {
  const text = replyText(PRECONDITION_FAILED, "é".repeat(300));
  // 22 bytes of prefix leave 233: 116 characters of two bytes and one byte unused.
  assertEquals(encodeText(text).length, 254);
  assertEquals(text, `PRECONDITION_FAILED - ${"é".repeat(116)}`);
});

Deno.test("replyCodeName() gives the number when a code has no name", () => {
  assertEquals(replyCodeName(541), "INTERNAL_ERROR");
  assertEquals(replyCodeName(999), "999");
});

Deno.test("syntaxError() is a connection error with code 502", () => {
  const error = syntaxError("field table is truncated");
  assertInstanceOf(error, ConnectionError);
  assertEquals(error.replyText, "SYNTAX_ERROR - field table is truncated");
  assertEquals(error.code, 502);
});
