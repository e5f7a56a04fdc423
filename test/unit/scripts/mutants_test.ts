// What the mutation tool plants, and which constants it leaves alone.

import { assertEquals, assertThrows } from "@std/assert";
import { readFileSync } from "node:fs";
import { choicesOf, FILES_WITH_CHOICES } from "../../../scripts/mutation/choices.ts";
import { applyMutant, findMutants } from "../../../scripts/mutation/mutants.ts";

/** The sources that come of the mutants of one source. */
function mutated(source: string, choices: readonly string[] = []): string[] {
  return findMutants(source, choices).filter(({ isChoice }) => !isChoice)
    .map((mutant) => applyMutant(source, mutant));
}

Deno.test("findMutants() changes operators, numbers, conditions and statements, one at a time", () => {
  assertEquals(mutated("if (a < 1) f();"), [
    "if (true) f();",
    "if (false) f();",
    "if (a <= 1) f();",
    "if (a >= 1) f();",
    "if (a < 2) f();",
    "if (a < 1) ;",
  ]);
  assertEquals(mutated('assert(a < 1, "text");'), []);
});

Deno.test("findMutants() knows the numbers of choices, and not their operators or the code that reads them", () => {
  const source = "export const STEP_MAX = 2 * 8;\nconst LIMIT = 3;\nf(STEP_MAX + 1);";
  const without = mutated(source, ["STEP_MAX"]);
  const numbers = /= (?:3 \* 8|2 \* 9);/;
  assertEquals(without, mutated(source).filter((one) => !numbers.test(one)));
  assertEquals(without.length, mutated(source).length - 2);
  assertEquals(findMutants(source, ["STEP_MAX"]).length, mutated(source).length);
});

Deno.test("findMutants() refuses a choice that is no constant of the file", () => {
  for (const source of ["let a = 1;", "function f() { const STEP_MAX = 3; }"]) {
    assertThrows(() => findMutants(source, ["STEP_MAX"]), Error, "STEP_MAX");
  }
});

Deno.test("choicesOf() names constants that are there", () => {
  for (const file of FILES_WITH_CHOICES) {
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
    assertEquals(findMutants(source, choicesOf(file)).some(({ isChoice }) => isChoice), true, file);
  }
});
