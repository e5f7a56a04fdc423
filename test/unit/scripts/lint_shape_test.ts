// Planted violations of the shape rules are caught, and the exceptions the rules name hold. Runs
// under Deno alone: the rules are Deno lint rules.
import { assertEquals, assertStringIncludes } from "@std/assert";
import plugin from "../../../scripts/lint_shape.ts";

const HEADER = "// The concept.\n// Who calls it.\n";

function findings(path: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, path, source).map(({ id, message }) => `${id}: ${message}`);
}

function caught(path: string, source: string, text: string): void {
  const found = findings(path, source);
  assertEquals(found.length, 1, `${source}: ${JSON.stringify(found)}`);
  assertStringIncludes(found[0]!, text);
}

function lines(count: number): string {
  return `function f() {\n${"  g();\n".repeat(count - 2)}}\n`;
}

Deno.test("file-header wants an opening comment of a few lines", () => {
  caught("src/lib/x.ts", "let a = 1;", "at least 2");
  caught("src/lib/x.ts", "// One line.\nlet a = 1;", "at least 2");
  caught("src/lib/x.ts", "\n// Not\n// at the top.\nlet a = 1;", "at least 2");
  caught("src/lib/x.ts", "// line\n".repeat(9) + "let a = 1;", "9 lines");
  assertEquals(findings("src/lib/x.ts", HEADER + "let a = 1;"), []);
  assertEquals(findings("src/lib/x.ts", HEADER + "//\n" + "// drawing\n".repeat(20)), []);
  assertEquals(findings("src/lib/x.ts", "#!/usr/bin/env node\n" + HEADER + "let a = 1;"), []);
  assertEquals(findings("src/lib/x.ts", "/**\n * The concept.\n */\nlet a = 1;"), []);
  assertEquals(findings("test/unit/x_test.ts", "// One line.\nlet a = 1;"), []);
});

Deno.test("function-shape bounds lines and parameters", () => {
  assertEquals(findings("src/lib/x.ts", HEADER + lines(70)), []);
  caught("src/lib/x.ts", HEADER + lines(71), "71 lines");
  assertEquals(findings("src/lib/x_gen.ts", HEADER + lines(71)), []);
  caught("src/lib/x.ts", HEADER + "const f = (a, b, c, d, e) => 1;", "5 parameters");
  caught("src/lib/x.ts", HEADER + "class A { m(a, b, c, d, e) {} }", "5 parameters");
  assertEquals(
    findings("core-wasm/assembly/x.ts", HEADER + "export function f(a, b, c, d, e) {}"),
    [],
  );
});

Deno.test("documented-exports wants TSDoc on every exported declaration", () => {
  const kinds = ["const a = 1;", "function a() {}", "class A {}", "interface A {}", "type A = 1;"];
  for (const kind of kinds) {
    caught("src/lib/x.ts", `${HEADER}export ${kind}`, "no TSDoc");
    caught("src/lib/x.ts", `${HEADER}// plain\nexport ${kind}`, "no TSDoc");
    assertEquals(findings("src/lib/x.ts", `${HEADER}/** Doc. */\nexport ${kind}`), []);
    assertEquals(findings("test/unit/x_test.ts", `${HEADER}export ${kind}`), []);
  }
  const overloads =
    "/** Doc. */\nexport function a(b: 1): 1;\nexport function a(b: 1) { return b; }";
  assertEquals(findings("src/lib/x.ts", HEADER + overloads), []);
  assertEquals(findings("src/lib/x.ts", HEADER + "const a = 1; export { a };"), []);
});

Deno.test("hash-private refuses accessibility keywords", () => {
  caught("src/lib/x.ts", HEADER + "class A { private b = 1; }", '"private"');
  caught("src/lib/x.ts", HEADER + "class A { public b() {} }", '"public"');
  assertEquals(findings("src/lib/x.ts", HEADER + "class A { #b = 1; }"), []);
});
