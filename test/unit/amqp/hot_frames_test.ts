// Tests of src/amqp/hot_frames.ts: the frames written by hand are those the generated encoders write.
// Run by every unit test run.

import { assertEquals } from "@std/assert";
import { writeAck, writeHeartbeat, writeNack } from "../../../src/amqp/hot_frames.ts";
import { writeBasicAck, writeBasicNack } from "../../../src/amqp/methods_gen.ts";
import { hex, written } from "./support/wire.ts";

const CHANNEL = 513;

Deno.test("writeAck() and writeNack() write the frames of the generated encoders", () => {
  for (const multiple of [false, true]) {
    assertEquals(
      written((out) => writeAck(out, CHANNEL, 2 ** 40, multiple)),
      written((out) => writeBasicAck(out, CHANNEL, 2 ** 40, multiple)),
    );
    assertEquals(
      written((out) => writeNack(out, CHANNEL, 2 ** 40, multiple)),
      written((out) => writeBasicNack(out, CHANNEL, 2 ** 40, multiple, false)),
    );
  }
});

Deno.test("writeHeartbeat() writes an empty frame of type 8 on channel 0", () => {
  assertEquals(written(writeHeartbeat), hex("08 0000 00000000 ce"));
});
