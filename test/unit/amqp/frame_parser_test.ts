// Tests of src/amqp/frame_parser.ts: every split point, random splits with reused and retained
// chunks, and every way a frame can be broken. Run by every unit test run.

import { assert, assertEquals, assertLessOrEqual, assertThrows } from "@std/assert";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import { FrameParser } from "../../../src/amqp/frame_parser.ts";
import { writeHeartbeat } from "../../../src/amqp/hot_frames.ts";
import { writeBasicPublish, writeQueueDeclare } from "../../../src/amqp/methods_gen.ts";
import type { ByteWriter } from "../../../src/lib/byte_writer.ts";
import { Prng } from "../../../src/lib/prng.ts";
import type { FrameCopy } from "./support/wire.ts";
import { frameCopy, framesIn, hex, written } from "./support/wire.ts";

function writeBody(out: ByteWriter, channel: number, byteCount: number): void {
  out.u8(3);
  out.u16(channel);
  out.u32(byteCount);
  for (let i = 0; i < byteCount; i++) out.u8(i * 7);
  out.u8(0xce);
}

const STREAM = written((out) => {
  writeHeartbeat(out);
  writeQueueDeclare(out, 1, { queue: "jobs", durable: true });
  writeBasicPublish(out, 0xffff, { exchange: "amq.topic", routingKey: "a.b.c" });
  writeBody(out, 2, 0);
  writeBody(out, 3, 100);
  writeHeartbeat(out);
  writeBody(out, 4, 600);
});

// The stream read naively, independent of the parser.
function expectedFrames(stream: Uint8Array): FrameCopy[] {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  const frames: FrameCopy[] = [];
  for (let at = 0; at < stream.length;) {
    const size = view.getUint32(at + 3);
    const payload = new Uint8Array(stream.subarray(at + 7, at + 7 + size));
    frames.push({ type: stream[at]!, channel: view.getUint16(at + 1), payload });
    at += size + 8;
  }
  return frames;
}

const EXPECTED = expectedFrames(STREAM);

// Feeds pieces through one buffer that is overwritten after each, as a transport may do.
function parsePieces(pieces: readonly Uint8Array[]): FrameCopy[] {
  const parser = new FrameParser();
  const reused = new Uint8Array(STREAM.length);
  const frames: FrameCopy[] = [];
  for (const piece of pieces) {
    reused.set(piece, 0);
    parser.push(reused, 0, piece.length);
    while (parser.next()) frames.push(frameCopy(parser));
    reused.fill(0xee);
  }
  assertEquals(parser.pendingByteCount, 0);
  return frames;
}

Deno.test("FrameParser shows all frames when the stream comes in one piece", () => {
  assertEquals(EXPECTED.length, 7);
  assertEquals(framesIn(STREAM), EXPECTED);
});

Deno.test("FrameParser shows all frames when the stream is split at any byte", () => {
  for (let split = 0; split <= STREAM.length; split++) {
    assertEquals(parsePieces([STREAM.subarray(0, split), STREAM.subarray(split)]), EXPECTED);
  }
});

Deno.test("FrameParser shows all frames when the stream comes byte by byte", () => {
  const pieces = Array.from(STREAM, (_, i) => STREAM.subarray(i, i + 1));
  assertEquals(parsePieces(pieces), EXPECTED);
});

Deno.test("FrameParser shows all frames when split at any two bytes of its first frames", () => {
  const head = STREAM.subarray(0, 60);
  for (let first = 0; first <= head.length; first++) {
    for (let second = first; second <= head.length; second++) {
      const rest = STREAM.subarray(second);
      const pieces = [STREAM.subarray(0, first), STREAM.subarray(first, second), rest];
      assertEquals(parsePieces(pieces).length, EXPECTED.length, `splits ${first} and ${second}`);
    }
  }
});

function randomPieces(prng: Prng, stream: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < stream.length;) {
    const byteCount = prng.nextBelow(prng.nextBelow(4) === 0 ? 300 : 12);
    pieces.push(stream.subarray(at, at + byteCount));
    at += byteCount;
  }
  return pieces;
}

Deno.test("FrameParser shows all frames when the stream is split at random", () => {
  for (let seed = 0; seed < 200; seed++) {
    const pieces = randomPieces(new Prng(seed), STREAM);
    assertEquals(parsePieces(pieces), EXPECTED, `seed ${seed}`);
  }
});

// A session with a budget: it stops in the middle of a chunk and sometimes gets another one meanwhile.
function parseWithBudget(seed: number): FrameCopy[] {
  const prng = new Prng(seed);
  const parser = new FrameParser();
  const frames: FrameCopy[] = [];
  for (const piece of randomPieces(prng, STREAM)) {
    const chunk = new Uint8Array(piece);
    parser.push(chunk, 0, chunk.length);
    let budget = prng.nextBelow(3);
    while (budget-- > 0 && parser.next()) frames.push(frameCopy(parser));
    if (prng.nextBelow(5) === 0) parser.trim();
  }
  while (parser.next()) frames.push(frameCopy(parser));
  assertEquals(parser.pendingByteCount, 0);
  return frames;
}

Deno.test("FrameParser loses nothing when the session stops in the middle of a chunk", () => {
  for (let seed = 0; seed < 300; seed++) {
    assertEquals(parseWithBudget(seed), EXPECTED, `seed ${seed}`);
  }
});

Deno.test("FrameParser reads only the given range of a chunk", () => {
  const chunk = Uint8Array.from([0xff, 0xff, ...STREAM, 0xff]);
  const parser = new FrameParser();
  const frames: FrameCopy[] = [];
  parser.push(chunk, 2, chunk.length - 1);
  while (parser.next()) frames.push(frameCopy(parser));
  assertEquals(frames, EXPECTED);
});

Deno.test("FrameParser shows a frame in place when it lies whole in a chunk", () => {
  const parser = new FrameParser();
  parser.push(STREAM, 0, STREAM.length);
  assert(parser.next());
  assert(parser.buffer === STREAM);
  assertEquals(parser.frameByteCount, 8);
  assertEquals(parser.pendingByteCount, STREAM.length - 8);
});

Deno.test("FrameParser lets go of the chunk when next() has returned false", () => {
  const parser = new FrameParser();
  parser.push(STREAM, 0, STREAM.length - 5);
  while (parser.next());
  assert(parser.buffer !== STREAM);
  assertEquals(parser.pendingByteCount, 603);
});

function failure(bytes: Uint8Array, frameMax = 4096): ConnectionError {
  const parser = new FrameParser();
  parser.frameMax = frameMax;
  parser.push(bytes, 0, bytes.length);
  return assertThrows(() => parser.next(), ConnectionError);
}

Deno.test("FrameParser is a 501 with RabbitMQ's text when the end octet is wrong", () => {
  const error = failure(hex("03 0001 00000002 0a0b cf"));
  assertEquals(error.code, 501);
  assertEquals(
    error.replyText,
    "FRAME_ERROR - type 3, all octets = <<10,11>>: {invalid_frame_end_marker,207}",
  );
});

Deno.test("FrameParser is a 501 when the type is unknown, before the payload has come", () => {
  const error = failure(hex("09 0001 00000fff"));
  assertEquals(error.replyText, "FRAME_ERROR - type 9, all octets = <<>>: unknown_frame");
});

Deno.test("FrameParser is a 501 when the size passes frame_max, before the payload has come", () => {
  const error = failure(hex("03 0001 00001001"));
  assertEquals(
    error.replyText,
    "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,4097,4088}",
  );
  assertEquals(failure(hex("03 0001 ffffffff"), 131072).code, 501);
});

Deno.test("FrameParser accepts a payload of frame_max, as RabbitMQ does", () => {
  const parser = new FrameParser();
  parser.frameMax = 4096;
  const stream = written((out) => writeBody(out, 1, 4096));
  parser.push(stream, 0, stream.length);
  assert(parser.next());
  assertEquals(parser.payloadEnd - parser.payloadStart, 4096);
});

Deno.test("FrameParser finds a broken frame when it is split at any byte", () => {
  const broken = hex("01 0001 00000004 0032000a 00");
  for (let split = 0; split < broken.length; split++) {
    const parser = new FrameParser();
    parser.push(broken, 0, split);
    assert(!parser.next());
    parser.push(broken, split, broken.length);
    assertThrows(() => parser.next(), ConnectionError, "invalid_frame_end_marker");
  }
});

Deno.test("FrameParser takes memory as bytes arrive, never from the announced size", () => {
  const header = hex("03 0001 0001fff0");
  const parser = new FrameParser();
  parser.push(header, 0, header.length);
  assert(!parser.next());
  const dribble = new Uint8Array(100);
  for (let i = 0; i < 10; i++) {
    parser.push(dribble, 0, dribble.length);
    assert(!parser.next());
  }
  assertEquals(parser.pendingByteCount, 1007);
  assertLessOrEqual(parser.storageByteCount, 2048);
});

Deno.test("FrameParser.trim() gives back storage and keeps what is unread", () => {
  const parser = new FrameParser();
  parser.push(STREAM, 0, 300);
  while (parser.next());
  parser.trim();
  parser.push(STREAM, 300, STREAM.length);
  const frames: FrameCopy[] = [];
  while (parser.next()) frames.push(frameCopy(parser));
  assertEquals(frames.at(-1), EXPECTED.at(-1));
  parser.trim();
  assertEquals(parser.storageByteCount, 0);
});

Deno.test("FrameParser shares the storage of large frames in pieces among parsers, one at a time", () => {
  const stream = written((out) => writeBody(out, 1, 60_000));
  const [expected] = expectedFrames(stream);
  const parsers = [new FrameParser(), new FrameParser()];
  for (let round = 0; round < 4; round++) {
    for (const parser of parsers) parser.push(stream, 0, 50_000);
    for (const parser of parsers) assertEquals(parser.next(), false);
    for (const parser of parsers) {
      parser.push(stream, 50_000, stream.length);
      assert(parser.next());
      assertEquals(frameCopy(parser), expected);
      assertEquals(parser.next(), false);
      parser.trim();
      assertEquals(parser.storageByteCount, 0);
    }
  }
});
