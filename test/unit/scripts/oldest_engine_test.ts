// The gate against what the oldest engine does not have: that it finds each kind of it.

import { assertEquals } from "@std/assert";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newerSyntax, newerThanOldest } from "../../../scripts/lib/oldest_engine.ts";

/** One use of something newer a line. */
const NEWER = `
export const a = new ArrayBuffer(8).transfer(0);
export const b = new ArrayBuffer(8, { maxByteLength: 16 });
export const c = Array.fromAsync([1]);
export const d = Promise.withResolvers<void>();
export const e = Promise.try(() => 1);
export const f = new Set([1]).union(new Set([2]));
export const g = [1].values().map((one) => one + 1);
export const h = Iterator.from([1]);
export const i = Object.groupBy([1], () => "all");
export const j = Map.groupBy([1], () => "all");
export const k = Uint8Array.fromBase64("AA==");
export const l = new Uint8Array(1).toHex();
export const m = /[a--b]/v;
export const n = RegExp.escape("a.b");
export const o = new Float16Array(1);
export const p = Math.sumPrecise([1]);
export const q = Error.isError(1);
export const r = Temporal.Now.instant();
export const s = "a".isWellFormed();
export const t = Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
export const u = navigator.hardwareConcurrency;
export const v = globSync("*");
`;

Deno.test("newerThanOldest() finds each use of what the oldest engine does not have", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-newer-"));
  try {
    const file = join(folder, "newer.ts");
    writeFileSync(file, `import { globSync } from "node:fs";${NEWER}`);
    const found = await newerThanOldest([file]);
    const lines = found.map((line) => Number(/\((\d+),/.exec(line)?.[1]));
    const expected = NEWER.trim().split("\n").map((_, index) => index + 2);
    // The import is on the first line, its use is no further error.
    assertEquals([...new Set(lines)].sort((a, b) => a - b), [1, ...expected.slice(0, -1)]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("newerSyntax() finds what the compiler takes for any library", () => {
  const text = `const folder = import.meta.dirname;
  using file = open();
  await using broker = await Broker.start();
  for (using one of all) use(one);
  // a comment about using one = of these
  const url = import.meta.url;`;
  const lines = newerSyntax("src/mod.ts", text).map((line) =>
    line.slice(0, "src/mod.ts(1)".length)
  );
  assertEquals(lines, [1, 2, 3, 4].map((line) => `src/mod.ts(${line})`));
  assertEquals(newerSyntax("src/runtime/deno/net.ts", text), []);
});
