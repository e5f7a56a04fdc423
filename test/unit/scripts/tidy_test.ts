// Planted untidiness of each kind is found, and only that.
import { assert, assertEquals } from "@std/assert";
import { inspect, projectFiles } from "../../../scripts/tidy.ts";

function found(path: string, text: string): string[] {
  return inspect(path, text).map(({ what }) => what);
}

Deno.test("inspect() bounds the length of code, more generously for tests", () => {
  assertEquals(found("src/a.ts", "x;\n".repeat(500)), []);
  assertEquals(found("src/a.ts", "x;\n".repeat(501)), ["501 lines, more than 500"]);
  assertEquals(found("test/unit/a_test.ts", "x;\n".repeat(600)), []);
  assertEquals(found("test/unit/a_test.ts", "x;\n".repeat(601)), ["601 lines, more than 600"]);
  assertEquals(found("src/a_gen.ts", "x;\n".repeat(5000)), []);
  assertEquals(found("docs/a.md", "x\n".repeat(5000)), []);
});

Deno.test("inspect() finds leftover notes with their line", () => {
  const note = "TO" + "DO";
  const path = "src/a.ts";
  assertEquals(inspect(path, `a;\n// ${note}: b\n`), [{ path, line: 2, what: "a note for later" }]);
  assertEquals(found("README.md", "FIX" + "ME"), ["a note for later"]);
  assertEquals(found("src/a.ts", "const todo = 1; // mastodon"), []);
});

Deno.test("inspect() finds words of a workplace", () => {
  assertEquals(found("a.md", "see /work" + "/shared/x").length, 1);
  assertEquals(found("a.json", '"https://registry.' + 'npmjs.org/x"').length, 1);
  assertEquals(found("a.md", "as asked in issue" + " 2").length, 1);
  assertEquals(found("a.md", "the issue is 2 ms, a session, npm and pip").length, 0);
});

Deno.test("inspect() finds waivers that hide too much", () => {
  const waive = "// deno-lint-" + "ignore";
  assertEquals(found("src/a.ts", waive).length, 1);
  assertEquals(found("src/a.ts", `${waive}-file`).length, 1);
  assertEquals(found("src/a.ts", `${waive}-file reprise-layers/no-ambient`).length, 1);
  assertEquals(found("src/a.ts", `${waive} reprise-layers/no-ambient`).length, 1);
  assertEquals(found("src/a.ts", "// @ts-" + "ignore").length, 1);
  assertEquals(found("src/a.ts", `${waive} reprise-shape/function-shape -- measured`), []);
  assertEquals(found("src/a.ts", `${waive} no-explicit-any`), []);
});

Deno.test("projectFiles() lists sources and pages, nothing installed or built", () => {
  const files = projectFiles();
  for (const path of ["deno.json", "scripts/tidy.ts", "test/support/assert.ts"]) {
    assert(files.includes(path), path);
  }
  assert(!files.some((path) => /(^|\/)(node_modules|\.git|dist)\//.test(path)));
});
