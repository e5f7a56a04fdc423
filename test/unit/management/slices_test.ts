// Long work in slices: one at a time, with a pause after each, whoever asks.

import { assertEquals } from "@std/assert";
import { Pace, SLICE_UNITS, Slices } from "../../../src/management/slices.ts";

/** Slices whose pauses end by hand. */
function held() {
  const pauses: (() => void)[] = [];
  const slices = new Slices(() => new Promise((resolve) => pauses.push(resolve)));
  const round = async () => {
    pauses.splice(0).forEach((resume) => resume());
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { slices, round };
}

Deno.test("next() gives one slice a round to all that ask, in their order", async () => {
  const { slices, round } = held();
  const done: string[] = [];
  const job = async (name: string, count: number) => {
    for (let i = 0; i < count; i++) {
      await slices.next();
      done.push(name);
    }
  };
  void job("a", 3);
  void job("b", 2);
  void job("c", 1);
  const after: string[] = [];
  for (let i = 0; i < 8; i++) {
    await round();
    after.push(done.join(""));
  }
  assertEquals(after.slice(0, 6), ["ab", "abc", "abca", "abcab", "abcaba", "abcaba"]);
});

Deno.test("next() begins at once when nothing is under way", async () => {
  const { slices, round } = held();
  await slices.next();
  await round();
  await slices.next();
});

Deno.test("spend() says when the slice of a job is over", async () => {
  const pace = new Pace(new Slices(() => Promise.resolve()));
  assertEquals(pace.spend(1), true);
  await pace.next();
  assertEquals(pace.spend(SLICE_UNITS - 1), false);
  assertEquals(pace.spend(1), true);
});
