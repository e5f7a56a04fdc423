// Sharing out the parts of CI: how many at once, what waits for what, what is alone.

import { assertEquals, assertRejects } from "@std/assert";
import { type Piece, runLanes } from "../../../scripts/lib/lanes.ts";

/** Does the pieces in two lanes; what runs beside each, and in which order they began. */
async function observe(pieces: readonly Piece[]) {
  const running = new Set<string>();
  const beside: Record<string, string[]> = {};
  const results = await runLanes(pieces, 2, async ({ name }) => {
    beside[name] = [...running];
    running.add(name);
    // The first one takes longest.
    for (let turn = 0; turn < (name === "a" ? 50 : 5); turn++) await Promise.resolve();
    running.delete(name);
    return name.toUpperCase();
  });
  return { beside, results };
}

Deno.test("runLanes() keeps two lanes busy and gives the results in order", async () => {
  const { beside, results } = await observe([{ name: "a" }, { name: "b" }, { name: "c" }]);
  assertEquals(beside, { a: [], b: ["a"], c: ["a"] });
  assertEquals(results, ["A", "B", "C"]);
});

Deno.test("runLanes() lets a piece wait for another and does others meanwhile", async () => {
  const pieces = [{ name: "a" }, { name: "b", after: "a" }, { name: "c" }];
  const { beside, results } = await observe(pieces);
  assertEquals(beside, { a: [], c: ["a"], b: [] });
  assertEquals(results, ["A", "B", "C"]);
});

Deno.test("runLanes() does alone at the end what must be alone", async () => {
  const { beside } = await observe([{ name: "b", isAlone: true }, { name: "a" }, { name: "c" }]);
  assertEquals(beside, { a: [], c: ["a"], b: [] });
});

Deno.test("runLanes() refuses a piece that waits for nothing there is", async () => {
  const pieces = [{ name: "a", after: "b" }, { name: "b", isAlone: true }];
  await assertRejects(() => observe(pieces), Error, "a waits for what is not there");
});
