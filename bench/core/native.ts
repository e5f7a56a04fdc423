// The priority queues of C++ and Rust, compiled into a scratch folder when the machine has the
// compiler. Called by main.ts; a missing compiler is an answer, not a failure.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../scripts/lib/process.ts";
import type { Job } from "./measure.ts";
import type { Figures, NativeName } from "./results.ts";

interface Source {
  readonly name: NativeName;
  readonly compiler: string;
  readonly options: readonly string[];
  readonly file: string;
}

const sources: readonly Source[] = [
  {
    name: "C++ priority_queue",
    compiler: "g++",
    options: ["-O2", "-std=c++17"],
    file: "priority_queue.cpp",
  },
  {
    name: "Rust BinaryHeap",
    compiler: "rustc",
    options: ["-O", "--edition=2021"],
    file: "binary_heap.rs",
  },
];

/** A compiled program. */
export interface Native {
  readonly name: NativeName;
  /** First line of what the compiler says of itself. */
  readonly version: string;
  readonly program: string;
}

/** Compiles what can be compiled; says of the rest why not. */
export async function compileNatives(
  scratchDir: string,
): Promise<{ natives: Native[]; skipped: string[] }> {
  const natives: Native[] = [];
  const skipped: string[] = [];
  for (const { name, compiler, options, file } of sources) {
    const { status, stdout } = spawnSync(compiler, ["--version"], { encoding: "utf8" });
    if (status !== 0) {
      skipped.push(`${name}: no ${compiler}`);
      continue;
    }
    const program = join(scratchDir, file.replace(/\.\w+$/, ""));
    const path = fileURLToPath(new URL(`./native/${file}`, import.meta.url));
    const built = await run([compiler, ...options, "-o", program, path], { quiet: true });
    if (built.code !== 0) throw new Error(`${file} does not compile:\n${built.output}`);
    natives.push({ name, version: stdout.split("\n")[0]!, program });
  }
  return { natives, skipped };
}

/** The figures of one job of the kind `speed`. */
export async function runNative(native: Native, job: Omit<Job, "subject">): Promise<Figures> {
  const numbers = [job.pending, job.holdCount, job.drainMax].map(String);
  const { code, output } = await run([native.program, job.shape, ...numbers], { quiet: true });
  if (code !== 0) throw new Error(`${native.name} failed: ${output}`);
  return JSON.parse(output) as Figures;
}
