// Tests of src/amqp/frame.ts and method_frame.ts: the protocol header in any split and RabbitMQ's
// texts for broken frames. Run by every unit test run.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import {
  isFrameType,
  payloadSnippet,
  PROTOCOL_HEADER,
  ProtocolHeaderMatcher,
} from "../../../src/amqp/frame.ts";
import { readMethodKey } from "../../../src/amqp/method_frame.ts";
import { QUEUE_DECLARE } from "../../../src/amqp/methods_gen.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { hex } from "./support/wire.ts";

Deno.test("ProtocolHeaderMatcher accepts the header when it is split at any byte", () => {
  for (let split = 0; split <= 8; split++) {
    const matcher = new ProtocolHeaderMatcher();
    assertEquals(matcher.offer(PROTOCOL_HEADER, 0, split), split);
    assertEquals(matcher.state, split === 8 ? "accepted" : "pending");
    assertEquals(matcher.offer(PROTOCOL_HEADER, split, 8), 8 - split);
    assertEquals(matcher.state, "accepted");
  }
});

Deno.test("ProtocolHeaderMatcher leaves the bytes after the header to the frames", () => {
  const bytes = Uint8Array.from([7, ...PROTOCOL_HEADER, 1, 2]);
  const matcher = new ProtocolHeaderMatcher();
  assertEquals(matcher.offer(bytes, 1, bytes.length), 8);
  assertEquals(matcher.offer(bytes, 9, bytes.length), 0);
});

Deno.test("ProtocolHeaderMatcher refuses at the first wrong byte", () => {
  for (const header of ["GET / HTTP/1.1", "AMQX", "AMQP\x01\x01\x00\x09", "AMQP\x00\x01\x00\x00"]) {
    const bytes = encodeText(header);
    const matcher = new ProtocolHeaderMatcher();
    matcher.offer(bytes, 0, bytes.length);
    assertEquals(matcher.state, "refused");
    assertEquals(matcher.offer(PROTOCOL_HEADER, 0, 8), 0);
  }
});

Deno.test("isFrameType() knows the four types of the protocol", () => {
  const types = Array.from({ length: 256 }, (_, type) => type).filter(isFrameType);
  assertEquals(types, [1, 2, 3, 8]);
});

Deno.test("payloadSnippet() shows at most 16 octets", () => {
  assertEquals(payloadSnippet(hex("0102"), 0, 2), "all octets = <<1,2>>");
  assertEquals(payloadSnippet(new Uint8Array(16), 0, 0), "all octets = <<>>");
  const shown = payloadSnippet(new Uint8Array(40).fill(7), 3, 20);
  assertEquals(shown, `first 16 octets = <<${new Array(16).fill(7).join(",")}>>`);
});

Deno.test("readMethodKey() is a 501 when the payload is too short for a method", () => {
  assertEquals(readMethodKey(hex("ff 0032000a"), 1, 5), QUEUE_DECLARE);
  const error = assertThrows(() => readMethodKey(hex("003200"), 0, 3), ConnectionError);
  assert(error.code === 501);
  assertEquals(error.replyText, "FRAME_ERROR - type 1, all octets = <<0,50,0>>: unknown_frame");
});
