// Shrinking keeps what makes a program differ and drops the rest.

import { assertEquals } from "@std/assert";
import type { Program } from "./program.ts";
import { makeProgram } from "./program.ts";
import type { Outcome } from "./run.ts";
import { shrink } from "./shrink.ts";

function outcome(difference: string | null): Promise<Outcome> {
  return Promise.resolve({
    difference,
    methodCount: 0,
    stepCount: 0,
    startedOverCount: 0,
    said: new Map(),
  });
}

/** Differs when it holds a purge and, in a later step, a get. */
function run({ steps }: Program): Promise<Outcome> {
  const has = (index: number, kind: string) => steps[index]!.ops.some((op) => op.kind === kind);
  for (let first = 0; first < steps.length; first++) {
    for (let second = first + 1; second < steps.length; second++) {
      if (has(first, "purge") && has(second, "get")) return outcome("there");
    }
  }
  return outcome(null);
}

Deno.test("shrink() leaves the methods that make the difference", async () => {
  let seed = 1;
  while ((await run(makeProgram(seed))).difference === null) seed++;
  const { program, difference } = await shrink(makeProgram(seed), run);
  assertEquals(difference, "there");
  assertEquals(program.steps.map(({ ops }) => ops.map(({ kind }) => kind)), [["purge"], ["get"]]);
  assertEquals(program.steps.flatMap(({ cuts }) => cuts), []);
});
