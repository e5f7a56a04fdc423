// The short form of the benchmarks by hand: `deno task bench:short` compares with the baseline and
// exits with 1 after a clear regression; with --baseline it measures a new baseline instead.

import process from "node:process";
import { guardSpeed, writeBaseline } from "./guard.ts";

if (process.argv.includes("--baseline")) {
  await writeBaseline();
} else {
  const { regressions } = await guardSpeed();
  console.log(regressions.length === 0 ? "as fast as before" : "slower than before");
  process.exit(regressions.length === 0 ? 0 : 1);
}
