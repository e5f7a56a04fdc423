// The outbox and the buffers it borrows.

import { assertEquals, assertNotEquals, assertStrictEquals } from "@std/assert";
import { BufferPool } from "../../../src/session/buffer_pool.ts";
import { Outbox } from "../../../src/session/outbox.ts";
import type { Transport } from "../../../src/session/transport.ts";

class RecordingTransport implements Transport {
  pendingBytes = 0;
  readonly written: number[][] = [];
  /** Buffers still needed; what `write` returns instead is new. */
  keepsBuffers = false;

  write(buffer: Uint8Array, byteCount: number): Uint8Array {
    this.written.push([...buffer.subarray(0, byteCount)]);
    if (!this.keepsBuffers) return buffer;
    this.pendingBytes += byteCount;
    return new Uint8Array(65_536);
  }

  pause(): void {}
  resume(): void {}
  end(): void {}
  destroy(): void {}
}

Deno.test("Outbox.flush() hands over what was written, once", () => {
  const transport = new RecordingTransport();
  const outbox = new Outbox(transport, new BufferPool());
  outbox.open();
  outbox.writer.u8(1);
  outbox.writer.u8(2);
  assertEquals(outbox.waitingBytes, 2);
  assertEquals(outbox.flush(0), true);
  assertEquals(outbox.flush(0), false);
  assertEquals(transport.written, [[1, 2]]);
  assertEquals([outbox.sentBytes, outbox.waitingBytes], [2, 0]);
});

Deno.test("Outbox holds a buffer only during the turn in which it writes", () => {
  const pool = new BufferPool();
  const first = pool.take();
  pool.give(first);
  const outbox = new Outbox(new RecordingTransport(), pool);
  assertEquals(outbox.writer.bytes.length, 0);
  outbox.open();
  assertStrictEquals(outbox.writer.bytes, first);
  outbox.writer.u8(1);
  outbox.flush(0);
  assertEquals(outbox.writer.bytes.length, 0);
  assertStrictEquals(pool.take(), first);
});

Deno.test("Outbox never writes into a buffer that the transport still needs", () => {
  const pool = new BufferPool();
  const transport = new RecordingTransport();
  transport.keepsBuffers = true;
  const outbox = new Outbox(transport, pool);
  outbox.open();
  const kept = outbox.writer.bytes;
  outbox.writer.u8(1);
  outbox.flush(0);
  outbox.open();
  assertEquals(outbox.writer.bytes === kept, false);
  assertEquals(outbox.waitingBytes, 1);
  outbox.drained();
  assertEquals(outbox.waitingBytes, 0);
});

Deno.test("Outbox.discard() forgets what was written and gives the buffer back", () => {
  const pool = new BufferPool();
  const transport = new RecordingTransport();
  const outbox = new Outbox(transport, pool);
  outbox.open();
  const buffer = outbox.writer.bytes;
  outbox.writer.u8(1);
  outbox.discard();
  assertEquals(transport.written, []);
  assertStrictEquals(pool.take(), buffer);
});

Deno.test("BufferPool keeps neither tiny nor huge buffers, and not too many", () => {
  const pool = new BufferPool();
  const tiny = new Uint8Array(100);
  const huge = new Uint8Array(2_000_000);
  pool.give(tiny);
  pool.give(huge);
  assertEquals(pool.take().length, 65_536);
  const buffers = Array.from({ length: 100 }, () => new Uint8Array(65_536));
  for (const buffer of buffers) pool.give(buffer);
  const known = new Set<Uint8Array>(buffers);
  let reused = 0;
  for (let i = 0; i < 100; i++) if (known.has(pool.take())) reused++;
  assertNotEquals(reused, 100);
});
