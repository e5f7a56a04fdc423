// The engine on patterns that people write for permissions, topic permissions and policies, and on
// patterns that are made to take forever.

import { assert, assertEquals } from "@std/assert";
import { LinearPattern } from "../../../../src/lib/pattern/linear_pattern.ts";
import { PATTERN_CORPUS } from "../../../support/pattern_corpus.ts";

Deno.test("test() matches what people mean, in steps that were known beforehand", () => {
  for (const { pattern: source, matches, misses, variables = {} } of PATTERN_CORPUS) {
    const pattern = new LinearPattern(source, { variables });
    for (const [isWanted, names] of [[true, matches], [false, misses]] as const) {
      for (const name of names) {
        assertEquals(pattern.test(name), isWanted, `/${source}/ on ${name.slice(0, 80)}`);
        const stepsMax = pattern.stepsPerCharacterMax * ([...name].length + 1);
        assert(pattern.lastSteps <= stepsMax, `/${source}/: ${pattern.lastSteps} of ${stepsMax}`);
      }
    }
  }
});
