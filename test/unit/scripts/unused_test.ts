// The gate over unused exports: what is planted is found, with tests and without, and the table of
// kept exports holds back only what it names. Runs under Deno alone, which runs Knip.
import { assertEquals } from "@std/assert";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { GATES } from "../../../scripts/lib/gates.ts";
import { findUnused, problems, type Unused } from "../../../scripts/unused.ts";

const PROJECT: Readonly<Record<string, string>> = {
  "package.json": "{}",
  "src/mod.ts": "export const VERSION = 1;\n",
  "src/main.ts": 'import { used } from "./lib/a.ts";\nused();\n',
  "src/lib/a.ts": `
export function used(): void {
  limit();
}
export function limit(): void {}
export function tested(): void {}
export function forgotten(): void {}
export type Forgotten = string;
`,
  "src/lib/b.ts": "export const LEFT = 1;\n",
  "test/support/c.ts": "export const needed = 1;\nexport const spare = 2;\n",
  "test/unit/a_test.ts": `
import { tested } from "../../src/lib/a.ts";
import { needed } from "../support/c.ts";
tested();
console.log(needed);
`,
};

async function unusedOf(files: Readonly<Record<string, string>>): Promise<Unused> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-unused-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return await findUnused(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("findUnused() finds planted exports, types and files, also those that tests use", async () => {
  const unused = await unusedOf(PROJECT);
  assertEquals(
    [...unused].map(([path, names]) => [path, ...[...names].sort()]).sort(),
    [
      ["src/lib/a.ts", "Forgotten", "forgotten", "limit", "tested"],
      ["src/lib/b.ts", "src/lib/b.ts"],
      ["test/support/c.ts", "spare"],
    ],
  );
});

Deno.test("problems() holds back what is kept and reports what is kept without need", () => {
  const unused: Unused = new Map([
    ["src/a.ts", new Set(["x", "y"])],
    ["src/b.ts", new Set(["src/b.ts"])],
    ["src/c_gen.ts", new Set(["many"])],
  ]);
  const why = "a reason";
  assertEquals(problems(unused, []), [
    "src/a.ts: nobody needs x",
    "src/a.ts: nobody needs y",
    "src/b.ts: nobody needs it",
    "src/c_gen.ts: nobody needs many",
  ]);
  const kept = [
    { path: "src/a.ts", names: ["x", "z"], why },
    { path: "src/b.ts", names: ["*"], why },
    { path: "src/c_gen.ts", names: ["*"], why },
    { path: "src/d.ts", names: ["*"], why },
  ];
  assertEquals(problems(unused, kept), [
    "src/a.ts: nobody needs y",
    "src/a.ts: z is in the table of kept exports without need",
    "src/d.ts: * is in the table of kept exports without need",
  ]);
});

Deno.test("GATES hold the gate over unused exports", () => {
  assertEquals(GATES.filter(({ args }) => args.includes("scripts/unused.ts")).length, 1);
});
