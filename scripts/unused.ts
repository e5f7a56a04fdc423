// Finds exports that nobody needs: those that no other file imports, and those of src/ and core-wasm/
// that only tests, benchmarks or scripts import. Knip finds them; what stays nevertheless is in
// lint/kept_exports.ts with its reason. CI runs it as a gate.

import process from "node:process";
import { KEPT, type Kept } from "./lint/kept_exports.ts";
import { run } from "./lib/process.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";

const KNIP = "npm:knip@6.44.2";

/** What nobody needs, by file: names of exports, or the name of the file itself if it is the file. */
export type Unused = Map<string, Set<string>>;

interface Issue {
  readonly file: string;
  readonly files: readonly { readonly name: string }[];
  readonly exports: readonly { readonly name: string }[];
  readonly types: readonly { readonly name: string }[];
  /** Names under which one thing is exported twice. */
  readonly duplicates: readonly (readonly { readonly name: string }[])[];
}

/** Asks Knip about a project that has the folders of this one. */
export async function findUnused(folder: string): Promise<Unused> {
  const unused: Unused = new Map();
  // First the program without its tests, then everything.
  for (const mode of [["--production"], []]) {
    for (const { file, files, exports, types, duplicates } of await ask(folder, mode)) {
      const names = unused.get(file) ?? new Set();
      unused.set(file, names);
      for (const { name } of [files, exports, types, ...duplicates].flat()) names.add(name);
    }
  }
  return unused;
}

async function ask(folder: string, mode: readonly string[]): Promise<readonly Issue[]> {
  const deno = ["run", "-A", "--no-lock", "--node-modules-dir=none", KNIP];
  const config = ["--directory", folder, "--config", `${ROOT}scripts/lint/knip.json`];
  const form = ["--reporter", "json", "--no-exit-code", "--no-config-hints"];
  const command = [...denoCommand(), ...deno, ...config, ...form, ...mode];
  const { code, output } = await run(command, { cwd: folder, quiet: true });
  const start = output.indexOf('{"issues"');
  if (code !== 0 || start < 0) throw new Error(`knip failed:\n${output}`);
  return (JSON.parse(output.slice(start)) as { issues: readonly Issue[] }).issues;
}

/** Returns what is unused and not kept, and what is kept without need. */
export function problems(unused: Unused, kept: readonly Kept[]): string[] {
  const found: string[] = [];
  for (const [path, names] of unused) {
    const stays = new Set(kept.filter((one) => one.path === path).flatMap((one) => one.names));
    if (stays.has("*")) continue;
    for (const name of names) {
      if (!stays.has(name)) found.push(`${path}: nobody needs ${name === path ? "it" : name}`);
    }
  }
  for (const { path, names } of kept) {
    for (const name of names) {
      const isUnused = name === "*" ? unused.has(path) : unused.get(path)?.has(name) === true;
      if (!isUnused) found.push(`${path}: ${name} is in the table of kept exports without need`);
    }
  }
  return found.sort();
}

if (import.meta.main) {
  const found = problems(await findUnused(ROOT), KEPT);
  for (const line of found) console.log(line);
  console.log(`unused: ${KEPT.length} kept, ${found.length} problems`);
  process.exit(found.length === 0 ? 0 : 1);
}
