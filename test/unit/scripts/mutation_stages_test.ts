// Which tests the mutation tool runs for a mutant, and in which order.

import { assertEquals } from "@std/assert";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { stagesOf } from "../../../scripts/mutation/stages.ts";

Deno.test("stagesOf() goes from a file's own test to those nearest by imports, to its layer, to the rest", () => {
  const root = mkdtempSync(join(tmpdir(), "stages-"));
  try {
    const files = {
      "src/store/log/a.ts": "",
      "src/store/x.ts": 'export { a } from "./log/a.ts";',
      "test/unit/store/x_test.ts": 'import { x } from "../../../src/store/x.ts";',
      "test/unit/store/log/a_test.ts": 'import { a } from "../../../../src/store/log/a.ts";',
      "test/unit/store/b_test.ts": 'import { b } from "../../../src/store/log/a.ts";',
      "test/unit/store/c_test.ts": 'import { c } from "../../../src/store/log/aa.ts";',
      "test/unit/broker/d_test.ts": 'import { d } from "../../../src/store/log/a.ts";',
      "test/model/e_test.ts": 'import { e } from "../../src/store/log/a.ts";',
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    assertEquals(stagesOf("src/store/log/a.ts", root), [
      ["test/unit/store/log/a_test.ts"],
      ["test/unit/store/b_test.ts", "test/unit/broker/d_test.ts"],
      ["test/unit/store/x_test.ts"],
      ["test/unit/store/log", "test/unit/store", "test/unit/broker"],
      ["test/model"],
    ]);
    assertEquals(stagesOf("src/store/log/aa.ts", root)[0], ["test/unit/store/c_test.ts"]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
