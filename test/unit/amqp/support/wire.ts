// Small helpers that turn what a test states into wire bytes and back. Test code only.

import { ByteWriter } from "../../../../src/lib/byte_writer.ts";
import type { FieldTable } from "../../../../src/amqp/field_value.ts";
import { writeFieldTable } from "../../../../src/amqp/field_table.ts";
import type { Properties } from "../../../../src/amqp/properties.ts";
import { writeProperties } from "../../../../src/amqp/properties.ts";
import { RawProperties } from "../../../../src/amqp/raw_properties.ts";
import { FrameParser } from "../../../../src/amqp/frame_parser.ts";

/** What `write` writes. */
export function written(write: (out: ByteWriter) => void): Uint8Array {
  const out = new ByteWriter();
  write(out);
  return out.copy();
}

/** A table's entries, the length prefix stripped. */
export function tableBytes(table: FieldTable): Uint8Array {
  return written((out) => writeFieldTable(out, table)).slice(4);
}

/** Raw properties behind and before bytes that must not matter. */
export function rawProperties(properties: Properties): RawProperties {
  const bytes = written((out) => {
    out.u32(0xffff_ffff);
    writeProperties(out, properties);
    out.u32(0xffff_ffff);
  });
  const raw = new RawProperties();
  raw.set(bytes, 4, bytes.length - 4);
  return raw;
}

/** A view of bytes that hold raw properties and nothing else. */
export function rawOf(bytes: Uint8Array): RawProperties {
  const raw = new RawProperties();
  raw.set(bytes, 0, bytes.length);
  return raw;
}

/** A frame, copied out of the parser. */
export interface FrameCopy {
  readonly type: number;
  readonly channel: number;
  readonly payload: Uint8Array;
}

/** The frame a parser shows. */
export function frameCopy(parser: FrameParser): FrameCopy {
  return {
    type: parser.type,
    channel: parser.channel,
    payload: parser.buffer.slice(parser.payloadStart, parser.payloadEnd),
  };
}

/** All frames in `bytes`, given to a new parser in one piece. */
export function framesIn(bytes: Uint8Array): FrameCopy[] {
  const parser = new FrameParser();
  const frames: FrameCopy[] = [];
  parser.push(bytes, 0, bytes.length);
  while (parser.next()) frames.push(frameCopy(parser));
  return frames;
}

/** Bytes from a string of hex digits; spaces do not matter. */
export function hex(digits: string): Uint8Array {
  const packed = digits.replaceAll(" ", "");
  return Uint8Array.from(
    { length: packed.length / 2 },
    (_, i) => parseInt(packed.slice(2 * i, 2 * i + 2), 16),
  );
}
