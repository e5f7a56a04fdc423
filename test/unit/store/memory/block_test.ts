// Block: the layout of a record gives back what was written, at every size and with any neighbours.

import { assertEquals } from "@std/assert";
import {
  Block,
  holderCountAt,
  isStubAt,
  moveRecord,
  recordBytesAt,
  recordBytesOf,
  recordRefAt,
  setHolderCountAt,
  STUB_BYTES,
  viewRecord,
  writeRecord,
  writeStub,
} from "../../../../src/store/memory/block.ts";
import type { MessageSource } from "../../../../src/store/port.ts";
import { emptySource, emptyView } from "../../../../src/store/views.ts";

interface Parts {
  address: number[];
  properties: number[];
  body: number[];
}

function bytesFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => (first + index) & 0xff);
}

/**
 * A message whose parts lie in buffers of their own or adjoin in one, which begin `lead` bytes into
 * them.
 */
function sourceOf({ address, properties, body }: Parts, isOnePiece: boolean, lead: number) {
  const all = new Uint8Array([...bytesFrom(200, lead), ...address, ...properties, ...body, 222]);
  const inOwn = (part: number[]) => new Uint8Array([...bytesFrom(210, lead), ...part, 223]);
  const propertiesStart = lead + address.length;
  const bodyStart = propertiesStart + properties.length;
  const facts = { flags: 0x7f, priority: 255, arrivalMs: 1.5, expiryMs: 2.5 };
  const pieces: Partial<MessageSource> = isOnePiece
    ? {
      address: all,
      properties: all,
      body: all,
      addressStart: lead,
      addressEnd: propertiesStart,
      propertiesStart,
      propertiesEnd: bodyStart,
      bodyStart,
      bodyEnd: bodyStart + body.length,
    }
    : {
      address: inOwn(address),
      properties: inOwn(properties),
      body: inOwn(body),
      addressStart: lead,
      addressEnd: lead + address.length,
      propertiesStart: lead,
      propertiesEnd: lead + properties.length,
      bodyStart: lead,
      bodyEnd: lead + body.length,
    };
  return { ...emptySource(), ...facts, ...pieces };
}

function read(block: Block, at: number): Record<string, unknown> {
  const view = emptyView();
  viewRecord(block, at, view);
  const { bytes, flags, priority, arrivalMs, expiryMs } = view;
  return {
    address: [...bytes.subarray(view.addressStart, view.addressEnd)],
    properties: [...bytes.subarray(view.propertiesStart, view.propertiesEnd)],
    body: [...bytes.subarray(view.bodyStart, view.bodyEnd)],
    facts: [flags, priority, arrivalMs, expiryMs],
    ref: recordRefAt(block, at),
    holderCount: holderCountAt(block, at),
    isStub: isStubAt(block, at),
  };
}

Deno.test("Block holds records of every small size one behind the other, and moves them", () => {
  const block = new Block(3, 64 * 1024);
  const target = new Block(4, 64 * 1024);
  const written: { at: number; recordBytes: number; expected: Record<string, unknown> }[] = [];
  let ref = 0x8000_0000;
  for (const isOnePiece of [true, false]) {
    for (let size = 0; size < 24; size++) {
      const parts = {
        address: bytesFrom(size, size % 5),
        properties: bytesFrom(70 + size, size >> 1),
        body: bytesFrom(140 + size, size),
      };
      const source = sourceOf(parts, isOnePiece, size % 3);
      const payloadBytes = size % 5 + (size >> 1) + size;
      const recordBytes = 40 + 8 * Math.ceil(payloadBytes / 8);
      assertEquals(recordBytesOf(source), recordBytes);
      const [usedBytes, liveBytes] = [block.usedBytes, block.liveBytes];
      const at = writeRecord(block, source, ref);
      assertEquals([at, block.usedBytes], [usedBytes, usedBytes + recordBytes]);
      assertEquals([block.liveBytes, recordBytesAt(block, at)], [
        liveBytes + recordBytes,
        recordBytes,
      ]);
      setHolderCountAt(block, at, size);
      const facts = [0x7f, 255, 1.5, 2.5];
      const expected = { ...parts, facts, ref: ref++, holderCount: size, isStub: false };
      written.push({ at, recordBytes, expected });
    }
  }
  for (const { at, expected } of written) assertEquals(read(block, at), expected);
  for (const { at, recordBytes, expected } of written.reverse()) {
    const before = [block.liveBytes - recordBytes, target.liveBytes + recordBytes];
    const to = moveRecord(block, at, target);
    assertEquals([to + recordBytes, ...before], [
      target.usedBytes,
      block.liveBytes,
      target.liveBytes,
    ]);
    assertEquals(read(target, to), expected);
  }
  assertEquals([block.liveBytes, target.liveBytes], [0, target.usedBytes]);
});

Deno.test("Block does not take parts that only seem to adjoin for one piece", () => {
  const parts = { address: [1, 2, 3], properties: [4, 5], body: [6, 7, 8, 9] };
  const whole = sourceOf(parts, true, 0);
  const other = whole.address.slice();
  const gap = new Uint8Array([1, 2, 3, 99, 4, 5, 6, 7, 8, 9]);
  const gapBehind = new Uint8Array([1, 2, 3, 4, 5, 99, 6, 7, 8, 9]);
  const sources: MessageSource[] = [
    { ...whole, address: other, body: whole.body.slice() },
    { ...whole, address: new Uint8Array([1, 2, 3]) },
    { ...whole, properties: new Uint8Array([0, 0, 0, 4, 5]), body: whole.body },
    { ...whole, address: gap, properties: gap, body: gap, propertiesStart: 4, propertiesEnd: 6 },
    { ...whole, address: gapBehind, properties: gapBehind, body: gapBehind },
  ];
  for (const at of [3, 4]) Object.assign(sources[at]!, { bodyStart: 6, bodyEnd: 10 });
  // What lies beside the parts in their buffers is of no interest.
  other.fill(77, 3);
  for (const [number, source] of sources.entries()) {
    const block = new Block(0, 1024);
    const { address, properties, body } = read(block, writeRecord(block, source, 1));
    assertEquals({ address, properties, body }, parts, `source ${number}`);
  }
});

Deno.test("Block keeps in a stub what is asked of a record that is on a disk", () => {
  const block = new Block(0, 1024);
  block.words.fill(0xffff_ffff);
  const meta = { flags: 0x55, priority: 9, bodyBytes: 70_000, arrivalMs: 11, expiryMs: Infinity };
  for (const at of [0, STUB_BYTES]) {
    assertEquals(writeStub(block, meta, 77), at);
    const view = emptyView();
    viewRecord(block, at, view);
    assertEquals([view.flags, view.priority, view.arrivalMs, view.expiryMs], [
      0x55,
      9,
      11,
      Infinity,
    ]);
    assertEquals([view.addressEnd, view.propertiesEnd], [view.addressStart, view.propertiesStart]);
    assertEquals(view.bodyEnd - view.bodyStart, 70_000);
    assertEquals([recordRefAt(block, at), recordBytesAt(block, at), isStubAt(block, at)], [
      77,
      40,
      true,
    ]);
  }
  assertEquals([block.usedBytes, block.liveBytes], [80, 80]);
});
