// Which small faults the mutation tool would plant, and which texts it leaves alone.

import { assertEquals } from "@std/assert";
import { applyMutant, findMutants } from "../../../scripts/mutation/mutants.ts";

function changes(source: string): string[] {
  return findMutants(source).map((mutant) => applyMutant(source, mutant));
}

Deno.test("findMutants() moves every boundary of a comparison", () => {
  assertEquals(changes("x(a < b);"), [";", "x(a <= b);", "x(a >= b);"]);
});

Deno.test("findMutants() settles a condition both ways", () => {
  assertEquals(changes("if (a) return;".replace("return", "f()")), [
    "if (true) f();",
    "if (false) f();",
    "if (a) ;",
  ]);
});

Deno.test("findMutants() leaves texts, types, imports and assertions alone", () => {
  const source = [
    'import { a } from "./a.ts";',
    "type Two = 2;",
    'assert(a > 1, "more than " + 1);',
    'const text = "a" + name;',
    "const typed: 3 = value as 3;",
  ].join("\n");
  assertEquals(changes(source), []);
});

Deno.test("findMutants() tells the line of a change and adds one to a number", () => {
  const [mutant] = findMutants("f;\nconst a = 7;");
  assertEquals([mutant?.line, mutant?.replacement], [2, "8"]);
});

Deno.test("findMutants() changes an operator, not the same sign elsewhere", () => {
  assertEquals(changes("const a = (b) - -c;"), ["const a = (b) + -c;"]);
});
