// PageWriter and PageReader: a page says of each message what it was told, and of itself what is in it.

import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ByteWriter } from "../../../../src/lib/byte_writer.ts";
import {
  PageFormatError,
  PageReader,
  type PageRow,
} from "../../../../src/store/pages/page_reader.ts";
import { PageWriter } from "../../../../src/store/pages/page_writer.ts";
import type { PagedMessage } from "../../../../src/store/page.ts";
import { ENTRY_REDELIVERED, type RecordView } from "../../../../src/store/port.ts";
import { emptyView } from "../../../../src/store/views.ts";

const SEED = 7;
const QUEUE = 2 ** 33 + 5;

interface Given {
  message: PagedMessage;
  view: RecordView;
}

const time = fc.nat({ max: 2 ** 41 });
const never = fc.oneof(time, fc.constant(Infinity));

const given: fc.Arbitrary<Given> = fc.record({
  skipped: fc.nat({ max: 3 }),
  spent: fc.nat({ max: 5 }),
  endMs: never,
  expiryMs: never,
  arrivalMs: fc.nat({ max: 3 }),
  isDelayed: fc.boolean(),
  dueMs: time,
  delayNumber: fc.integer({ min: 1, max: 1_000_000 }),
  flags: fc.constantFrom(0, 1, 5),
  priority: fc.nat({ max: 255 }),
  lengths: fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 }), fc.nat({ max: 200 })),
}).map((one) => {
  const [address, properties, body] = one.lengths;
  const bytes = Uint8Array.from({ length: 300 }, (_, at) => at * 7);
  const view = Object.assign(emptyView(), one, { bytes, addressStart: 2 });
  view.addressEnd = view.propertiesStart = 2 + address;
  view.propertiesEnd = view.bodyStart = view.addressEnd + properties;
  view.bodyEnd = view.bodyStart + body;
  const { isDelayed, endMs } = one;
  const entry = one.spent === 0 ? 0 : one.spent + ENTRY_REDELIVERED;
  const delay = isDelayed
    ? { dueMs: one.dueMs, delayNumber: one.delayNumber }
    : { dueMs: 0, delayNumber: 0 };
  return { view, message: { ref: 1, position: one.skipped, entry, endMs, ...delay } };
});

/** Messages with rising positions. */
const page = fc.array(given, { minLength: 1, maxLength: 12 }).map((messages) => {
  let position = 1000;
  for (const { message } of messages) position = message.position += position + 1;
  return messages;
});

function write(messages: readonly Given[]) {
  const writer = new PageWriter(SEED);
  const out = new ByteWriter();
  // Pages begin at a multiple of 8.
  out.u64(1);
  writer.begin();
  for (const { message, view } of messages) writer.add(message, view);
  const facts = { ...writer };
  const indexEnd = writer.finish(QUEUE, out);
  return { facts, indexEnd, bytes: out.bytes.slice(8, out.byteCount) };
}

function rowsOf(reader: PageReader): PageRow[] {
  const rows: PageRow[] = [];
  while (reader.next()) rows.push({ ...reader.row });
  return rows;
}

Deno.test("PageReader gives back the messages that PageWriter was given", () => {
  fc.assert(fc.property(page, (messages) => {
    const { bytes, indexEnd } = write(messages);
    assertEquals(bytes.length % 8, 0);
    const reader = new PageReader(SEED);
    reader.open(bytes);
    reader.checkRecords();
    assertEquals([reader.queueId, reader.rowCount], [QUEUE, messages.length]);
    let recordAt = indexEnd;
    for (const [index, row] of rowsOf(reader).entries()) {
      const { message, view } = messages[index]!;
      const { ref: _, ...facts } = message;
      const { flags, priority, arrivalMs, expiryMs } = view;
      const addressBytes = view.addressEnd - view.addressStart;
      const propertiesBytes = view.propertiesEnd - view.propertiesStart;
      const bodyBytes = view.bodyEnd - view.bodyStart;
      const sizes = { addressBytes, propertiesBytes, bodyBytes, recordBytes: row.recordBytes };
      assertEquals(row, { ...facts, flags, priority, arrivalMs, expiryMs, ...sizes, recordAt });
      recordAt += row.recordBytes;
      const parts = bytes.subarray(recordAt - addressBytes - propertiesBytes - bodyBytes, recordAt);
      assertEquals([...parts], [...view.bytes.subarray(view.addressStart, view.bodyEnd)]);
    }
  }));
});

Deno.test("PageWriter says which messages are in the page", () => {
  fc.assert(fc.property(page, (messages) => {
    const { facts } = write(messages);
    const positions = messages.map(({ message }) => message.position);
    const kept = messages.filter(({ view }) => (view.flags & 1) !== 0);
    const bodies = (some: readonly Given[]) =>
      some.reduce((sum, { view }) => sum + view.bodyEnd - view.bodyStart, 0);
    assertEquals([facts.count, facts.bodyBytes], [messages.length, bodies(messages)]);
    assertEquals([facts.persistentCount, facts.persistentBodyBytes], [kept.length, bodies(kept)]);
    assertEquals([facts.first, facts.last], [positions[0], positions.at(-1)]);
    assertEquals(facts.expiryMinMs, Math.min(...messages.map(({ message }) => message.endMs)));
    const delayed = messages.filter(({ message }) => message.delayNumber > 0);
    const wakes = delayed.map(({ message }) => Math.min(message.dueMs, message.endMs));
    const numbers = delayed.map(({ message }) => message.delayNumber);
    assertEquals(
      facts.delays,
      delayed.length === 0 ? null : {
        wakeMinMs: Math.min(...wakes),
        wakeMaxMs: Math.max(...wakes),
        lastNumber: Math.max(...numbers),
      },
    );
    // The runs say the positions of those that survive a restart.
    const named: number[] = [];
    let position = facts.first;
    for (let run = 0; run < facts.runs.length; run += 2) {
      position += facts.runs[run]!;
      for (let left = facts.runs[run + 1]!; left > 0; left--) named.push(position++);
    }
    assertEquals(named, kept.map(({ message }) => message.position));
  }));
});

Deno.test("PageReader takes no page in which a bit has turned over", () => {
  const [messages] = fc.sample(page, { numRuns: 1, seed: 3 });
  const { bytes, indexEnd } = write(messages!);
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at]! ^= 1 << (at & 7);
    const reader = new PageReader(SEED);
    assertThrows(() => {
      reader.open(damaged);
      reader.checkRecords();
    }, PageFormatError);
  }
  // The index can be read without the records.
  const reader = new PageReader(SEED);
  reader.open(bytes.subarray(0, indexEnd));
  assertEquals(rowsOf(reader).length, messages!.length);
});
