// ColdStretches: who is asked for stretches, and how seldom everybody is when nobody has any.

import { assertEquals } from "@std/assert";
import { ColdStretches } from "../../../../src/store/pages/cold_stretches.ts";
import type { PageSource, Stretch } from "../../../../src/store/page.ts";

const MESSAGES_MIN = 4;

/** A source with so many chunks; it gives each of its stretches once. */
class Source {
  readonly chunkCount: number;
  askedCount = 0;
  readonly cold: Stretch[];
  spare: Stretch | null = null;

  constructor(chunkCount: number, names: readonly string[] = []) {
    this.chunkCount = chunkCount;
    this.cold = names.map(named);
  }

  coldStretches(max: number): Stretch[] {
    this.askedCount++;
    return this.cold.splice(0, max);
  }

  spareStretch(messagesMin: number): Stretch | null {
    assertEquals(messagesMin, MESSAGES_MIN);
    const { spare } = this;
    this.spare = null;
    return spare;
  }
}

function named(name: string): Stretch {
  return { name } as unknown as Stretch;
}

function start(sources: Source[]): ColdStretches {
  return new ColdStretches(() => (sources as unknown as PageSource[]).values(), MESSAGES_MIN);
}

/** Names of the stretches of one turn. */
function turn(cold: ColdStretches, nowMs: number): string[] {
  const names: string[] = [];
  cold.begin();
  for (let next = cold.next(nowMs); next !== null; next = cold.next(nowMs)) {
    names.push((next as unknown as { name: string }).name);
  }
  return names;
}

Deno.test("ColdStretches.next() begins with the source that has most, in the order that it says", () => {
  const small = new Source(2, ["s1"]);
  const large = new Source(9, ["l1", "l2", "l3"]);
  const cold = start([]);
  for (const source of [small, large]) cold.add(source as unknown as PageSource);
  assertEquals(turn(cold, 0), ["l1", "l2", "l3", "s1"]);
  assertEquals(cold.hasSome, false);
});

Deno.test("ColdStretches.next() takes a stretch of any source when none has grown", () => {
  const sources = ["a", "b", "c"].map((name) => {
    const source = new Source(1);
    source.spare = named(name);
    return source;
  });
  const cold = start(sources);
  assertEquals(turn(cold, 0).sort(), ["a", "b", "c"]);
});

Deno.test("ColdStretches rests for a tenth of a second when no source has anything", () => {
  const source = new Source(1);
  const cold = start([source]);
  assertEquals([turn(cold, 1000), source.askedCount], [[], 1]);
  source.spare = named("later");
  assertEquals([turn(cold, 1099), source.askedCount, cold.isWorthLooking(1099)], [[], 1, false]);
  assertEquals(cold.isWorthLooking(1100), true);
  assertEquals(turn(cold, 1100), ["later"]);
});

Deno.test("ColdStretches does not rest while some source has grown", () => {
  const source = new Source(1);
  const cold = start([source]);
  turn(cold, 1000);
  const grown = new Source(1, ["g"]);
  cold.add(grown as unknown as PageSource);
  assertEquals([cold.isWorthLooking(1001), turn(cold, 1001)], [true, ["g"]]);
  cold.add(grown as unknown as PageSource);
  cold.delete(grown as unknown as PageSource);
  assertEquals(cold.isWorthLooking(1002), false);
});
