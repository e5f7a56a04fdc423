// EntryReader: reads every kind of entry as BatchWriter was told it, and takes nothing for an entry that
// is none.

import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  batchAt,
  type BatchVisitor,
  EntryReader,
} from "../../../../src/store/format/batch_reader.ts";
import { BatchFormatError } from "../../../../src/store/format/batch_reader.ts";
import { BatchWriter, type Placed } from "../../../../src/store/format/batch_writer.ts";
import {
  BATCH_HEADER_BYTES,
  ENTRY_DYING,
  ENTRY_END,
  ENTRY_OPTIONAL,
  ENTRY_PAGED,
  ENTRY_PLACED,
} from "../../../../src/store/format/format.ts";
import { ENTRY_DELIVERED, ENTRY_REQUEUED } from "../../../../src/store/format/format.ts";
import type { PagePlace } from "../../../../src/store/page.ts";
import { ENTRY_REDELIVERED } from "../../../../src/store/port.ts";
import { putVarint, VARINT_BYTES_MAX, VarintError } from "../../../../src/store/varint.ts";
import { emptyView } from "../../../../src/store/views.ts";

const SEED = 7;
/** A floating-point number. */
const EIGHT = [0x40, 0, 0, 0, 0, 0, 0, 0];

type Call = [name: string, ...args: unknown[]];

/** Notes all that it is given. */
function noting(): { calls: Call[]; visitor: BatchVisitor } {
  const calls: Call[] = [];
  const visitor = new Proxy({}, {
    get: (_target, name) => (...args: unknown[]) =>
      void calls.push([String(name), ...structuredClone(args)]),
  });
  return { calls, visitor: visitor as BatchVisitor };
}

function written(write: (writer: BatchWriter) => void): Uint8Array {
  const writer = new BatchWriter(SEED);
  writer.open(new Uint8Array(16));
  write(writer);
  writer.finish(5, 1234.5, { previous: 3, safe: 2, file: 9 });
  return writer.out.bytes.slice(0, writer.out.byteCount);
}

function putVarintInto(writer: BatchWriter, value: number): void {
  const { out } = writer;
  out.ensure(VARINT_BYTES_MAX);
  out.byteCount = putVarint(out.bytes, out.byteCount, value);
}

function read(bytes: Uint8Array): Call[] {
  const { calls, visitor } = noting();
  new EntryReader().read(bytes, batchAt(bytes, 0, SEED)!, visitor);
  return calls;
}

const whole = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 2 ** 30 }), fc.constant(2 ** 52 + 1));
const count = fc.nat({ max: 1000 }).map((spent) => spent === 0 ? 0 : spent + ENTRY_REDELIVERED);
const time = fc.oneof(fc.nat({ max: 2 ** 41 }), fc.constant(1.5));
const pair = fc.tuple(whole, whole);

const place: fc.Arbitrary<PagePlace> = fc.record({
  file: whole,
  offset: whole,
  byteLength: whole,
  indexEnd: whole,
  first: whole,
  last: fc.constant(0),
  count: whole,
  bodyBytes: whole,
  expiryMinMs: fc.oneof(time, fc.constant(Infinity)),
  delays: fc.option(fc.record({ wakeMinMs: time, wakeMaxMs: time, lastNumber: whole })),
}).map((one) => ({
  ...one,
  last: one.first + 17,
  expiryMinMs: one.delays === null ? one.expiryMinMs : Infinity,
}));

const placed: fc.Arbitrary<Placed> = fc.record({
  queueId: whole,
  position: whole,
  file: whole,
  offset: whole,
  recordBytes: whole,
  state: fc.constantFrom(0, 1, 2, 3, 6),
  entry: count,
  dueMs: whole,
  delayNumber: whole,
  flags: fc.constantFrom(0, 1, 7),
  priority: fc.nat({ max: 255 }),
  bodyBytes: whole,
  arrivalMs: time,
  expiryMs: fc.oneof(time, fc.constant(Infinity)),
}).map((one) => one.state === 2 ? one : { ...one, dueMs: 0, delayNumber: 0 });

/** How an entry is written, and what the reader has to say of it. */
type Entry = [write: (writer: BatchWriter) => void, call: Call];

function entryOf<T>(
  arbitrary: fc.Arbitrary<T>,
  write: (writer: BatchWriter, value: T) => void,
  call: (value: T) => Call,
): fc.Arbitrary<Entry> {
  return arbitrary.map((value) => [(writer) => write(writer, value), call(value)]);
}

const cause = fc.constantFrom("rejected" as const, "expired" as const, "maxlen" as const);
const removal = fc.constantFrom("acked" as const, "purged" as const, "delivery_limit" as const);
const kind = fc.constantFrom("queue" as const, "exchange" as const, "deleted" as const);
const delay = fc.record({ dueMs: whole, entry: count, number: whole });

const entry: fc.Arbitrary<Entry> = fc.oneof(
  entryOf(placed, (w, one) => w.placed(one), (one) => ["placed", one]),
  entryOf(
    fc.tuple(pair, count),
    (w, [[q, p], entry]) => w.counted(ENTRY_DELIVERED, q, p, entry),
    ([[q, p], entry]) => ["delivered", q, p, entry],
  ),
  entryOf(
    fc.tuple(pair, count),
    (w, [[q, p], entry]) => w.counted(ENTRY_REQUEUED, q, p, entry),
    ([[q, p], entry]) => ["requeued", q, p, entry],
  ),
  entryOf(
    fc.tuple(pair, delay),
    (w, [[q, p], one]) => w.delayed(q, p, one),
    ([[q, p], one]) => ["delayed", q, p, one],
  ),
  entryOf(
    fc.tuple(pair, cause, count),
    (w, [[q, p], reason, entry]) => w.dying(q, p, { reason, entry }),
    ([[q, p], reason, entry]) => ["dying", q, p, { reason, entry }],
  ),
  entryOf(
    fc.tuple(pair, whole),
    (w, [[q, p], to]) => w.returned(q, p, to),
    ([[q, p], to]) => ["returned", q, p, to],
  ),
  entryOf(
    fc.tuple(pair, removal),
    (w, [[q, p], why]) => w.removed(q, p, why),
    ([[q, p], why]) => ["removed", q, p, why],
  ),
  entryOf(whole, (w, q) => w.purged(q), (q) => ["purged", q]),
  entryOf(
    fc.tuple(pair, pair),
    (w, [[q, p], [file, at]]) => w.moved(q, p, file, at),
    ([[q, p], [file, at]]) => ["moved", q, p, file, at],
  ),
  entryOf(
    fc.tuple(whole, place, fc.array(pair, { maxLength: 4 })),
    (w, [q, one, runs]) => w.paged(q, one, runs.flat()),
    ([q, one, runs]) => ["paged", q, one, runs.flat()],
  ),
  entryOf(pair, (w, [q, p]) => w.unpaged(q, p), ([q, p]) => ["unpaged", q, p]),
  entryOf(
    fc.tuple(pair, pair),
    (w, [[q, p], [file, at]]) => w.pageMoved(q, p, file, at),
    ([[q, p], [file, at]]) => ["pageMoved", q, p, file, at],
  ),
  entryOf(pair, (w, [q, p]) => w.lastPosition(q, p), ([q, p]) => ["lastPosition", q, p]),
  entryOf(whole, (w, q) => w.lastQueueId(q), (q) => ["lastQueueId", q]),
  entryOf(
    fc.tuple(kind, fc.string(), fc.jsonValue()),
    (w, [what, key, value]) => w.defined(what, key, value),
    ([what, key, value]) => ["defined", what, key, JSON.parse(JSON.stringify(value))],
  ),
  entryOf(
    fc.tuple(kind, fc.string()),
    (w, [what, key]) => w.undefined(what, key),
    ([what, key]) => ["undefined", what, key],
  ),
  entryOf(fc.constant(null), (w) => w.mark(ENTRY_END), () => ["end"]),
);

Deno.test("EntryReader.read() gives back every entry as BatchWriter was told it", () => {
  fc.assert(fc.property(fc.array(entry, { minLength: 1, maxLength: 12 }), (entries) => {
    const bytes = written((writer) => entries.forEach(([write]) => write(writer)));
    assertEquals(read(bytes), entries.map(([, call]) => call));
  }));
});

/** A record with parts of different lengths, and what the reader has to say of it. */
function recordOf(expiryMs: number) {
  const bytes = Uint8Array.from({ length: 60 }, (_, at) => at);
  const view = Object.assign(emptyView(), {
    bytes,
    flags: 5,
    priority: 9,
    arrivalMs: 77,
    expiryMs,
  });
  Object.assign(view, { addressStart: 3, addressEnd: 8, propertiesStart: 8, propertiesEnd: 15 });
  Object.assign(view, { bodyStart: 15, bodyEnd: 36 });
  const sizes = { addressBytes: 5, propertiesBytes: 7, bodyBytes: 21 };
  return { view, meta: { flags: 5, priority: 9, arrivalMs: 77, expiryMs, ...sizes } };
}

Deno.test("EntryReader.read() gives the record of each queue that took it, also one further back", () => {
  for (const expiryMs of [Infinity, 5000]) {
    const { view, meta } = recordOf(expiryMs);
    const ats: number[] = [];
    const bytes = written((writer) => {
      ats.push(writer.record(view));
      writer.enqueued(1, 10, ats[0]!);
      ats.push(writer.record({ ...view, bodyEnd: 16 }));
      writer.enqueued(2, 20, ats[1]!);
      writer.enqueued(3, 30, ats[0]!);
    });
    const facts = read(bytes).map(([name, queueId, position, record]) => {
      const { offset, recordBytes, partsAt, ...rest } = record as Record<string, number>;
      const { checksum: _, ...others } = rest;
      // The parts end where the record ends.
      const partBytes = others["addressBytes"]! + others["propertiesBytes"]! + others["bodyBytes"]!;
      assertEquals(partsAt! + partBytes, offset! + recordBytes!);
      assertEquals([...bytes.subarray(partsAt, partsAt! + 3)], [3, 4, 5]);
      return [name, queueId, position, offset, others];
    });
    assertEquals(facts, [
      ["enqueued", 1, 10, ats[0], meta],
      ["enqueued", 2, 20, ats[1], { ...meta, bodyBytes: 1 }],
      ["enqueued", 3, 30, ats[0], meta],
    ]);
  }
});

/** Reads entries that a batch with a right checksum should not have. */
function readBroken(payload: readonly number[]): void {
  const bytes = new Uint8Array(BATCH_HEADER_BYTES + payload.length);
  bytes.set(payload, BATCH_HEADER_BYTES);
  const place = { payloadStart: BATCH_HEADER_BYTES, end: bytes.length };
  const { visitor } = noting();
  new EntryReader().read(bytes, place as Parameters<EntryReader["read"]>[1], visitor);
}

Deno.test("EntryReader.read() passes over optional entries of any length, known or not", () => {
  for (const byteCount of [0, 1, 127, 128, 70_000]) {
    for (const type of [ENTRY_OPTIONAL, 255]) {
      const bytes = written((writer) => {
        writer.lastQueueId(1);
        writer.mark(type);
        putVarintInto(writer, byteCount);
        // What would be entries elsewhere.
        for (let i = 0; i < byteCount; i++) writer.mark(ENTRY_END);
        writer.lastQueueId(2);
      });
      assertEquals(read(bytes), [["lastQueueId", 1], ["lastQueueId", 2]]);
    }
  }
});

Deno.test("EntryReader.read() refuses an optional entry that reaches behind its batch", () => {
  const bytes = written((writer) => {
    writer.mark(ENTRY_OPTIONAL);
    putVarintInto(writer, 300);
  });
  assertThrows(() => read(bytes), BatchFormatError, "cut short");
});

Deno.test("EntryReader.read() refuses entries that cannot be", () => {
  assertThrows(() => readBroken([99]), BatchFormatError, "unknown entry type 99");
  // Nobody dies of an ack, of a purge, of a deletion, or of a cause without a name.
  for (const number of [0, 5, 6, 7, 255]) {
    assertThrows(() => readBroken([ENTRY_DYING, 1, 1, 0, number]), BatchFormatError, "cause");
  }
  for (const number of [1, 2, 3, 4]) readBroken([ENTRY_DYING, 1, 1, 0, number]);
  assertThrows(() => readBroken([10, 9, 0, 0]), BatchFormatError, "unknown kind");
});

Deno.test("EntryReader.read() refuses a state of a message and a kind of a page that it does not know", () => {
  const placed = (state: number) => [ENTRY_PLACED, 1, 1, 1, 8, 30, state, 0, 0, 0, 1, ...EIGHT];
  for (const state of [0, 1, 3, 4, 5, 6]) readBroken(placed(state));
  for (const state of [7, 8, 255]) {
    assertThrows(() => readBroken(placed(state)), BatchFormatError, `unknown state ${state}`);
  }
  const paged = (kind: number, ...more: number[]) => [
    ...[ENTRY_PAGED, 1, 1, 0, 1, 1, 1, 8, 60, 40, kind],
    ...more,
  ];
  readBroken(paged(0, 0));
  readBroken(paged(1, ...EIGHT, 0));
  readBroken(paged(2, ...EIGHT, ...EIGHT, 1, 0));
  for (const kind of [3, 255]) {
    assertThrows(() => readBroken(paged(kind, 0)), BatchFormatError, `kind of a page ${kind}`);
  }
});

Deno.test("EntryReader.read() refuses each entry that is cut short, wherever it is", () => {
  const { view } = recordOf(5000);
  const kinds: ((writer: BatchWriter) => void)[] = [
    (writer) => writer.record(view),
    (writer) => writer.removed(300, 300, "acked"),
    (writer) => writer.defined("queue", "key", { id: 1 }),
    (writer) => writer.delayed(1, 2, { dueMs: 1000, entry: 0, number: 300 }),
  ];
  for (const write of kinds) {
    const writer = new BatchWriter(SEED);
    writer.open(new Uint8Array(16));
    write(writer);
    const { bytes, byteCount } = writer.out;
    for (let end = BATCH_HEADER_BYTES + 1; end < byteCount; end++) {
      const payload = [...bytes.subarray(BATCH_HEADER_BYTES, end)];
      const error = assertThrows(() => readBroken(payload));
      assertEquals(error instanceof BatchFormatError || error instanceof VarintError, true);
    }
    readBroken([...bytes.subarray(BATCH_HEADER_BYTES, byteCount)]);
  }
});
