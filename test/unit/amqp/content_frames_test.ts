// Tests of src/amqp/content_frames.ts: ranges are copied from where they stand, bodies are cut at
// frame_max, and x-delivery-count is set or removed. Run by every unit test run.

import { assert, assertEquals } from "@std/assert";
import {
  writeBodyFrames,
  writeCountedHeaderFrame,
  writeHeaderFrame,
} from "../../../src/amqp/content_frames.ts";
import { ContentHeader } from "../../../src/amqp/content_header.ts";
import { fieldTableFrom } from "../../../src/amqp/field_json.ts";
import type { Properties } from "../../../src/amqp/properties.ts";
import { decodeProperties } from "../../../src/amqp/properties.ts";
import type { FrameCopy } from "./support/wire.ts";
import { framesIn, rawProperties, written } from "./support/wire.ts";

const CHANNEL = 513;

function headerIn({ payload }: FrameCopy): { bodyByteCount: number; properties: Properties } {
  const header = new ContentHeader();
  header.read(payload, 0, payload.length);
  const { bodyByteCount, propertiesStart, propertiesEnd } = header;
  return { bodyByteCount, properties: decodeProperties(payload, propertiesStart, propertiesEnd) };
}

Deno.test("writeHeaderFrame() writes the properties of the range", () => {
  const properties = { contentType: "text/plain", deliveryMode: 2 };
  const { bytes, start, end } = rawProperties(properties);
  const [frame] = framesIn(
    written((out) => writeHeaderFrame(out, CHANNEL, 2 ** 40, bytes, start, end)),
  );
  assertEquals([frame!.type, frame!.channel], [2, CHANNEL]);
  assertEquals(headerIn(frame!), { bodyByteCount: 2 ** 40, properties });
});

Deno.test("writeBodyFrames() writes no frame for no bytes", () => {
  const body = Uint8Array.of(1, 2, 3);
  assertEquals(written((out) => writeBodyFrames(out, CHANNEL, 4088, body, 2, 2)).length, 0);
});

Deno.test("writeBodyFrames() cuts the body at the largest payload", () => {
  for (const byteCount of [1, 4087, 4088, 4089, 8176, 8177, 20_000]) {
    const body = Uint8Array.from({ length: byteCount }, (_, i) => i * 31);
    const around = Uint8Array.from([7, ...body, 7]);
    const frames = framesIn(
      written((out) => writeBodyFrames(out, CHANNEL, 4088, around, 1, 1 + byteCount)),
    );
    assertEquals(frames.length, Math.ceil(byteCount / 4088));
    for (const { type, channel, payload } of frames) {
      assertEquals([type, channel], [3, CHANNEL]);
      assert(payload.length <= 4088);
    }
    assertEquals(Uint8Array.from(frames.flatMap(({ payload }) => [...payload])), body);
  }
});

function counted(properties: Properties, deliveryCount: number): Properties {
  const raw = rawProperties(properties);
  const frames = framesIn(
    written((out) => writeCountedHeaderFrame(out, CHANNEL, 3, raw, deliveryCount)),
  );
  assertEquals([frames.length, frames[0]!.type, frames[0]!.channel], [1, 2, CHANNEL]);
  const { bodyByteCount, properties: found } = headerIn(frames[0]!);
  assertEquals(bodyByteCount, 3);
  return found;
}

Deno.test("writeCountedHeaderFrame() sets x-delivery-count in place of any other", () => {
  const headers = fieldTableFrom({ "x-delivery-count": 3 });
  assertEquals(counted({}, 3), { headers });
  assertEquals(counted({ appId: "a" }, 3), { appId: "a", headers });
  const published = fieldTableFrom({ "x-delivery-count": "forged", other: 1 });
  const expected = fieldTableFrom({ other: 1, "x-delivery-count": 3 });
  assertEquals(counted({ headers: published }, 3), { headers: expected });
});

Deno.test("writeCountedHeaderFrame() leaves x-delivery-count out when the count is 0", () => {
  const published = fieldTableFrom({ "x-delivery-count": 9, other: 1 });
  assertEquals(counted({ headers: published }, 0), { headers: fieldTableFrom({ other: 1 }) });
  assertEquals(counted({ appId: "a" }, 0), { appId: "a" });
});
