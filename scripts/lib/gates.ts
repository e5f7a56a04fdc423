// Every gate a change must pass besides the tests: one list for `deno task ok` and for CI, so that
// they cannot drift apart. Runs the gates one after another and goes on after a failure.

import { run } from "./process.ts";
import { denoCommand, ROOT } from "./runtimes.ts";
import { addCheck, type Tally } from "./tally.ts";

/** One thing that must hold. */
export interface Gate {
  /** How it is reported. */
  name: string;
  /** Arguments for Deno; exit code 0 means that it holds. */
  args: string[];
}

/** The gates in the order in which a reader wants to hear of them. */
export const GATES: readonly Gate[] = [
  { name: "format", args: ["fmt", "--check"] },
  { name: "lint", args: ["lint"] },
  { name: "folders", args: ["run", "-A", "scripts/folders.ts"] },
  { name: "tidy", args: ["run", "-A", "scripts/tidy.ts"] },
  { name: "no unused exports", args: ["run", "-A", "scripts/unused.ts"] },
  { name: "types", args: ["task", "check"] },
  { name: "nothing newer than Node 20", args: ["run", "-A", "scripts/check_engine.ts"] },
  { name: "generated codec is fresh", args: ["run", "-A", "scripts/generate_amqp.ts", "--check"] },
  { name: "generated core is fresh", args: ["run", "-A", "scripts/build_core.ts", "--check"] },
  {
    name: "package of the core is typed and runs",
    args: ["run", "-A", "scripts/pack_core.ts", "--check"],
  },
  { name: "build runs on the installed Node", args: ["run", "-A", "scripts/build.ts", "--smoke"] },
];

/** Simulations with other seeds than those of the tests: gates that take long. */
export const SIMULATIONS: readonly Gate[] = [
  { name: "200 seeds of the crash simulation", args: crashes("--seeds", "200") },
  { name: "100 crowded seeds", args: crashes("--crowded", "--seeds", "100") },
  { name: "100 seeds with flipped bits", args: crashes("--flips", "--seeds", "100") },
];

function crashes(...options: string[]): string[] {
  return ["run", "-A", "test/simulation/crash/main.ts", "--from", "1001", ...options];
}

/** Runs gates, all by default; prints what the failing ones say. */
export async function runGates(
  tally: Tally,
  gates: readonly Gate[] = [...GATES, ...SIMULATIONS],
): Promise<void> {
  for (const { name, args } of gates) {
    const result = await run([...denoCommand(), ...args], { cwd: ROOT, quiet: true });
    const ok = result.code === 0;
    addCheck(tally, name, ok);
    console.log(`${ok ? "ok    " : "FAILED"} ${name}`);
    if (!ok) console.log(result.output);
  }
}
