// Uses the packed timing core as its users would: reads the metadata for npm and JSR, type-checks a
// small consumer under Node's resolution and runs it. Called by scripts/pack_core.ts --check.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./process.ts";
import { tscCommand } from "./tools.ts";

/** Both registries want a scoped name and a version in numbers. */
const NAME = /^@[a-z0-9-]+\/[a-z0-9-]+$/;
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

interface Metadata {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: string | Readonly<Record<string, unknown>>;
}

/** Files that an entry of "exports" names, whatever its conditions. */
function filesOf(entry: unknown): string[] {
  if (typeof entry === "string") return [entry];
  return Object.values(entry as Readonly<Record<string, unknown>>).flatMap(filesOf);
}

/** Throws unless package.json and jsr.json agree and name files that are in the folder. */
export function checkMetadata(folder: string): void {
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Metadata;
  const [npm, jsr] = [read("package.json"), read("jsr.json")];
  for (const { name, version, license, exports } of [npm, jsr]) {
    if (!NAME.test(name)) throw new Error(`${name} is no scoped name`);
    if (!VERSION.test(version)) throw new Error(`${version} is no version`);
    if (license !== npm.license) throw new Error("the licenses differ");
    const missing = filesOf(exports).find((path) => !existsSync(join(folder, path)));
    if (missing !== undefined) throw new Error(`exports name ${missing}, which is not there`);
  }
  if (npm.name !== jsr.name || npm.version !== jsr.version) {
    throw new Error("package.json and jsr.json differ in name or version");
  }
}

/** Uses each kind of thing that the package exports; the wrong use must be a type error. */
const CONSUMER = `
import { backoff, DueBatch, failure, ReferenceHeap, TimingHeap, TimingHeapError } from "@reprise/timing-core";
import type { TimerEntry, TimingHeapOptions, TimingStructure } from "@reprise/timing-core";

const options: TimingHeapOptions = { maxMemoryBytes: 2 ** 24 };
const heaps: TimingStructure[] = [new TimingHeap(options), new ReferenceHeap()];
for (const heap of heaps) {
  const group: number = heap.openGroup();
  const batch = new DueBatch(8);
  const handle: number = heap.insert(group, 1_000 + backoff.delayMs(500, 2, 30_000, 3), 42);
  const entries: TimerEntry[] = heap.list(group, 0, 10);
  while (heap.nextDueMs() <= 3_000) heap.popDue(3_000, batch);
  const payload: number | undefined = batch.payloads[0];
  if (entries[0]?.dueMs !== 3_000 || payload !== 42) throw new Error("not what was put in");
  if (heap.cancel(handle) !== failure.staleHandle) throw new Error("a fired handle was taken");
  try {
    heap.insert(group, NaN, 1);
  } catch (error) {
    if (!(error instanceof TimingHeapError) || error.code !== failure.badDueTime) throw error;
  }
}
// @ts-expect-error -- a due time is a number
const wrong = () => heaps[0]!.insert(1, "soon", 1);
void wrong;
`;

/** Type-checks and runs a consumer beside node_modules, under both of Node's resolutions. */
export async function checkInstalled(folder: string): Promise<void> {
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`);
  writeFileSync(join(folder, "consumer.ts"), CONSUMER);
  const strict = "--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess " +
    "--target es2023 --lib es2023";
  const flags = ["--ignoreConfig", ...strict.split(" ")];
  const steps: (readonly string[])[] = [
    ["--module", "nodenext", "--outDir", "."],
    ["--module", "preserve", "--moduleResolution", "bundler", "--noEmit"],
  ].map((module) => [...tscCommand(), ...flags, ...module, "consumer.ts"]);
  steps.push(["node", "consumer.js"]);
  for (const step of steps) {
    const { code, output } = await run(step, { cwd: folder, quiet: true });
    if (code !== 0) throw new Error(`${step.join(" ")} failed:\n${output}`);
  }
}
