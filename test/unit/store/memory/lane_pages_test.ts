// Lane with pages against a naive sorted list: chunks leave for a disk of plain objects and come back
// when they are asked for, at any time and in any order.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Lane } from "../../../../src/store/memory/lane.ts";
import { ChunkPool, type LaneChunk } from "../../../../src/store/memory/lane_chunk.ts";
import {
  type LanePages,
  Page,
  PAGE_GONE,
  PAGE_LOADING,
  PAGE_STORED,
} from "../../../../src/store/page.ts";
import { HEAD_EMPTY, HEAD_PENDING, HEAD_READY } from "../../../../src/store/port.ts";
import { type Held, NaiveLane } from "../support/naive_lane.ts";

type Step =
  | { kind: "push"; count: number; expiryMs: number }
  | { kind: "shift"; count: number; waits: boolean }
  | { kind: "restore"; count: number }
  | { kind: "expire"; nowMs: number; max: number }
  | { kind: "pageOut"; count: number; rowsMax: number; takesSpare: boolean }
  | { kind: "read"; count: number; at: number; fails: boolean }
  | { kind: "clear" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("push" as const),
      count: fc.integer({ min: 1, max: 60 }),
      expiryMs: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 100 })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("shift" as const),
      count: fc.integer({ min: 1, max: 60 }),
      waits: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("restore" as const),
      count: fc.integer({ min: 1, max: 10 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("expire" as const),
      nowMs: fc.integer({ min: 0, max: 100 }),
      max: fc.integer({ min: 1, max: 50 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pageOut" as const),
      count: fc.integer({ min: 1, max: 8 }),
      rowsMax: fc.integer({ min: 1, max: 16 }),
      takesSpare: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      count: fc.integer({ min: 1, max: 5 }),
      at: fc.nat(10),
      fails: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "clear" as const }) },
);

/** Pages as plain objects; reads end when the test says so. */
class ObjectPages implements LanePages {
  aheadBytes = 0;
  aheadBytesMax = 10_000;
  readonly pool = new ChunkPool(4, 16);
  readonly rows = new Map<Page, Held[]>();
  reading: { page: Page; isAhead: boolean }[] = [];

  load(page: Page, isAhead: boolean): void {
    if (page.state !== PAGE_STORED) return;
    page.state = PAGE_LOADING;
    this.reading.push({ page, isAhead });
  }

  drop(page: Page): void {
    page.state = PAGE_GONE;
    this.rows.delete(page);
  }

  grownCount = 0;

  grown(): void {
    this.grownCount++;
  }

  /** Ends one read; nothing when there is none. */
  finish(at: number, fails: boolean): void {
    const [read] = this.reading.splice(at % Math.max(this.reading.length, 1), 1);
    if (read === undefined || read.page.state === PAGE_GONE) return;
    const { page } = read;
    if (fails) {
      page.state = PAGE_STORED;
      return;
    }
    const rows = this.rows.get(page)!;
    const loaded = {
      count: rows.length,
      refs: Uint32Array.from(rows, (row) => row.ref),
      positions: Float64Array.from(rows, (row) => row.position),
      entries: Uint32Array.from(rows, (row) => row.entry),
      bodyBytes: new Uint32Array(rows.length),
      endsMs: Float64Array.from(rows, (row) => row.expiryMs),
      duesMs: new Float64Array(rows.length),
      delayNumbers: new Float64Array(rows.length),
    };
    page.owner.pagedIn(page, loaded, read.isAhead);
    this.drop(page);
  }

  /** Makes pages of what is in a chunk, at most `rowsMax` messages each. */
  write(lane: Lane, chunk: LaneChunk, rowsMax: number): void {
    const rows: Held[] = [];
    for (let index = chunk.head; index < chunk.tail; index++) {
      const ref = chunk.refs[index]!;
      if (ref === 0) continue;
      const expiryMs = chunk.expiries?.[index] ?? Infinity;
      rows.push({ position: chunk.base + index, ref, entry: chunk.entries[index]!, expiryMs });
    }
    if (rows.length === 0) return;
    chunk.seal();
    const pages: Page[] = [];
    while (rows.length > 0) {
      const some = rows.splice(0, rowsMax);
      const place = {
        file: 0,
        offset: 0,
        byteLength: 100,
        indexEnd: 0,
        first: some[0]!.position,
        last: some.at(-1)!.position,
        count: some.length,
        bodyBytes: 0,
        expiryMinMs: Math.min(...some.map((row) => row.expiryMs)),
        delays: null,
      };
      const held = { count: some.length, bodyBytes: 0, hasTransient: true };
      const page = new Page(lane, place, held);
      pages.push(page);
      this.rows.set(page, some);
    }
    lane.pagedOut(chunk, pages);
  }
}

/** Runs the steps on a lane and on the naive one and compares all they give. */
class Comparison {
  readonly pages = new ObjectPages();
  readonly naive = new NaiveLane();
  readonly waiter = { readArrived() {}, readFailed() {} };
  memoryBytes = 0;
  readonly lane = new Lane(this.pages.pool, (delta) => this.memoryBytes += delta, {
    queueId: 1,
    pages: this.pages,
  });
  readonly #out: Held[] = [];
  #nextRef = 1;

  run(next: Step): void {
    if (next.kind === "push") this.push(next.count, next.expiryMs);
    else if (next.kind === "shift") this.shift(next.count, next.waits);
    else if (next.kind === "restore") this.#restore(next.count);
    else if (next.kind === "expire") this.#expire(next.nowMs, next.max);
    else if (next.kind === "pageOut") this.pageOut(next);
    else if (next.kind === "clear") this.clear();
    else for (let i = 0; i < next.count; i++) this.pages.finish(next.at, next.fails);
    this.#check();
  }

  push(count: number, expiryMs = Infinity): void {
    for (let i = 0; i < count; i++) {
      const ref = this.#nextRef++;
      const position = this.lane.push(ref, ref % 7, expiryMs + i);
      assertEquals(position, this.naive.push(ref, ref % 7, expiryMs + i));
    }
  }

  /** Takes messages out; stops where one has to be read first unless it `waits`. */
  shift(count: number, waits: boolean): void {
    for (let i = 0; i < count; i++) {
      let state = this.lane.head(this.waiter);
      while (state === HEAD_PENDING && waits) {
        assert(this.pages.reading.length > 0);
        this.pages.finish(0, false);
        state = this.lane.head(this.waiter);
      }
      if (state === HEAD_PENDING) return;
      const expected = this.naive.ready.shift();
      assertEquals(state, expected === undefined ? HEAD_EMPTY : HEAD_READY);
      if (expected === undefined) return;
      const { headPosition, headRef, headEntry, headExpiryMs } = this.lane;
      assertEquals(
        { position: headPosition, ref: headRef, entry: headEntry, expiryMs: headExpiryMs },
        expected,
      );
      this.lane.shift();
      this.#out.push(expected);
    }
  }

  #restore(count: number): void {
    for (const held of this.#out.splice(-count)) {
      const changed = { ...held, entry: held.entry + 1 };
      this.lane.restore(held.position, held.ref, changed.entry, held.expiryMs);
      this.naive.restore(changed);
    }
  }

  // What is on a page does not expire before it has been read, but it is asked for.
  #expire(nowMs: number, max: number): void {
    const visited: number[] = [];
    const before = this.naive.ready;
    const count = this.lane.expire(nowMs, max, (ref) => visited.push(ref), this.waiter);
    assertEquals(visited.length, count);
    this.naive.ready = before.filter((held) => !visited.includes(held.ref));
    assertEquals(before.length - this.naive.ready.length, count);
    if (count === max) return;
    const stored = new Set([...this.pages.rows.values()].flat().map((row) => row.ref));
    const left = this.naive.ready.filter((held) => held.expiryMs <= nowMs);
    for (const held of left) assert(stored.has(held.ref));
  }

  pageOut(options: { count: number; rowsMax: number; takesSpare: boolean }): void {
    const { count, rowsMax, takesSpare } = options;
    const chunks = this.lane.coldStretches(count).map(({ chunk }) => chunk);
    assert(chunks.length <= count);
    assertEquals(new Set(chunks).size, chunks.length);
    for (const chunk of chunks) this.pages.write(this.lane, chunk, rowsMax);
    const spare = takesSpare ? this.lane.spareStretch(1) : null;
    if (spare !== null) this.pages.write(this.lane, spare.chunk, rowsMax);
  }

  clear(): void {
    const visited = new Set<number>();
    const stored = new Set([...this.pages.rows.values()].flat().map((row) => row.ref));
    const taken = this.lane.takeAll();
    assertEquals(taken.messageCount, this.naive.ready.length);
    while (taken.releaseSome(7, (ref) => visited.add(ref)));
    for (const held of this.naive.ready) assert(visited.has(held.ref) !== stored.has(held.ref));
    this.naive.ready = [];
    const { rows, aheadBytes } = this.pages;
    assertEquals([rows.size, this.memoryBytes, aheadBytes], [0, 0, 0]);
  }

  #check(): void {
    assertEquals(this.lane.messageCount, this.naive.ready.length);
    const inMemory = new Set(this.naive.ready.map((held) => held.ref));
    for (const row of [...this.pages.rows.values()].flat()) inMemory.delete(row.ref);
    const peeked: number[] = [];
    this.lane.peek(10, (ref) => peeked.push(ref));
    const expected = this.naive.ready.slice(0, peeked.length).map((held) => held.ref);
    assertEquals(peeked, expected);
    for (const held of this.naive.ready) {
      if (inMemory.has(held.ref)) assert(this.lane.nextExpiryMs() <= held.expiryMs);
    }
  }
}

Deno.test("Lane with pages does what a sorted list does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const comparison = new Comparison();
      for (const next of steps) comparison.run(next);
      comparison.shift(Infinity, true);
      assertEquals(comparison.naive.ready.length, 0);
    }),
    { numRuns: 500 },
  );
});

Deno.test("Lane.coldStretches() leaves the head and the tail in memory and takes the farthest first", () => {
  const { lane, pages, ...comparison } = new Comparison();
  comparison.naive.nextPosition = 1;
  for (let ref = 1; ref <= 4 + 16 * 6; ref++) lane.push(ref, 0, Infinity);
  const bases = lane.coldStretches(3).map(({ chunk }) => chunk.base);
  assertEquals(bases, [69, 53, 37]);
  for (const { chunk } of lane.coldStretches(2)) pages.write(lane, chunk, 16);
  assertEquals(lane.coldStretches(3).map(({ chunk }) => chunk.base), [37, 21]);
  for (let ref = 101; ref <= 150; ref++) lane.push(ref, 0, Infinity);
  // Behind the last page there are filled chunks now, and they are looked at first.
  assertEquals(lane.coldStretches(3).map(({ chunk }) => chunk.base), [85, 101, 117]);
});

Deno.test("Lane.head() reads pages ahead of the one it needs while chunks are used up", () => {
  const comparison = new Comparison();
  comparison.push(4 + 16 * 12);
  comparison.pageOut({ count: 100, rowsMax: 16, takesSpare: false });
  const { pages } = comparison;
  assertEquals(pages.rows.size, 10);
  assertEquals(pages.reading.length, 0);
  comparison.shift(5, false);
  const reading = () => pages.reading.map(({ page }) => page.place.first);
  assertEquals(reading(), [21, 37, 53, 69, 85, 101, 117]);
  while (pages.reading.length > 0) pages.finish(0, false);
  assertEquals(pages.aheadBytes, 700);
  comparison.shift(16, false);
  assertEquals(reading(), [133]);
  pages.finish(0, false);
  pages.aheadBytesMax = 100;
  comparison.shift(16, false);
  assertEquals([reading(), pages.aheadBytes], [[], 700]);
});

Deno.test("Lane fills the positions that recovery skips with holes, not with chunks", () => {
  const comparison = new Comparison();
  const { lane } = comparison;
  for (let position = 1; position <= 31; position += 2) {
    lane.nextPosition = position;
    lane.push(position, 0, Infinity);
  }
  assertEquals(lane.chunkCount, 3);
  for (let position = 1; position <= 31; position += 2) {
    assertEquals(lane.head(comparison.waiter), HEAD_READY);
    assertEquals([lane.headPosition, lane.headRef], [position, position]);
    lane.shift();
  }
  assertEquals(lane.messageCount, 0);
});

Deno.test("Lane.pushPage() takes the positions of the page, holes included", () => {
  const lane = new Lane(new ChunkPool(4, 16), () => {}, { queueId: 1, pages: new ObjectPages() });
  const facts = { file: 1, offset: 0, byteLength: 100, indexEnd: 10, bodyBytes: 0, delays: null };
  const pushed: number[] = [];
  for (const [first, last] of [[1, 10], [20, 25]] as const) {
    const place = { ...facts, first, last, count: 2, expiryMinMs: Infinity };
    lane.pushPage(new Page(lane, place, { count: 2, bodyBytes: 0, hasTransient: false }));
    pushed.push(lane.nextPosition);
  }
  assertEquals(pushed, [11, 26]);
  assertEquals([lane.push(7, 0, Infinity), lane.messageCount], [26, 5]);
});

Deno.test("Lane says that it has grown with each chunk behind the first two", () => {
  const pages = new ObjectPages();
  const lane = new Lane(pages.pool, () => {}, { queueId: 1, pages });
  const seen: number[] = [];
  for (let number = 1; number <= 4 + 16 * 3; number++) {
    const before = pages.grownCount;
    lane.push(number, 0, Infinity);
    if (pages.grownCount > before) seen.push(number);
  }
  assertEquals([seen, lane.chunkCount], [[21, 37], 4]);
});
