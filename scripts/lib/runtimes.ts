// Finds the three runtimes for the scripts: the one we run on, one installed on the machine if it is
// new enough, else one brought by npm. The versions here are the ones the project is tested with. Node
// comes as a package of its own (packages.ts); npx keeps its own cache for the others.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { installForNode, npmPackage } from "./packages.ts";

export { ROOT } from "./packages.ts";

/** Versions used where the machine has no suitable runtime of its own. */
export const VERSIONS = { deno: "2.9.6", bun: "1.4.5", node: "26.12.1" } as const;

/** The oldest Node that runs the sources as they are. */
export const NODE_MIN = "22.18.0";

/** Versions of Node that `dist/` is tested with: the oldest it is made for, and what people have. */
export const NODE_DIST: readonly string[] = ["20.0.0", "22.23.5", "24.22.3"];

/** All that `dist/` is tested under. */
export const DIST_ENGINES: readonly string[] = [...NODE_DIST, "bun", "deno"];

/** A runtime that the project supports. */
export type RuntimeName = keyof typeof VERSIONS;

/** Every supported runtime. */
export const RUNTIMES: readonly RuntimeName[] = ["deno", "bun", "node"];

/** Says whether the dotted version `found` is `wanted` or later. */
export function isAtLeast(found: string, wanted: string): boolean {
  const left = numbers(found);
  const right = numbers(wanted);
  for (let i = 0; i < right.length; i++) {
    const difference = (left[i] ?? 0) - right[i]!;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function numbers(version: string): number[] {
  return version.split(/[.+-]/).slice(0, 3).map(Number);
}

/** The version a command reports with --version, or undefined if it cannot be run. */
function reportedVersion(command: string): string | undefined {
  const { stdout, status } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return status === 0 ? /\d+\.\d+\.\d+/.exec(stdout)?.[0] : undefined;
}

function installed(command: string, wanted: string): boolean {
  const found = reportedVersion(command);
  return found !== undefined && isAtLeast(found, wanted);
}

/** The command that runs Deno. */
export function denoCommand(): string[] {
  if (process.versions["deno"] !== undefined) return [process.execPath];
  if (installed("deno", VERSIONS.deno)) return ["deno"];
  return ["npx", "-y", `deno@${VERSIONS.deno}`];
}

/** The command that runs Bun; it finds the packages of the project. */
export function bunCommand(): string[] {
  installForNode();
  if (process.versions["bun"] !== undefined) return [process.execPath];
  if (installed("bun", VERSIONS.bun)) return ["bun"];
  return ["npx", "-y", `bun@${VERSIONS.bun}`];
}

/**
 * The command that runs a Node able to run the sources: an exact version if one is asked for, else
 * the installed one if it is new enough, else a current one. It finds the packages of the project.
 */
export function nodeCommand(version?: string): string[] {
  installForNode();
  if (version === undefined && installed("node", NODE_MIN)) return ["node"];
  return [installNode(version ?? VERSIONS.node)];
}

/** The command that runs a runtime. */
export function runtimeCommand(runtime: RuntimeName): string[] {
  if (runtime === "deno") return denoCommand();
  return runtime === "bun" ? bunCommand() : nodeCommand();
}

/** The command that runs a TypeScript file of the project, Node's register hooks not included. */
export function runFileCommand(runtime: RuntimeName, file: string): string[] {
  const run = runtime === "deno" ? ["run", "-A", file] : [file];
  return [...runtimeCommand(runtime), ...run];
}

/**
 * The program itself of a runtime, with what it needs to run a file: unlike {@linkcode runtimeCommand}
 * never a launcher in between, so that signals reach it.
 */
export function programCommand(runtime: RuntimeName): string[] {
  const [file, ...args] = runtimeCommand(runtime);
  const show = "console.log(process.execPath)";
  const evaluate = runtime === "deno"
    ? ["eval", `import process from "node:process";${show}`]
    : ["-e", show];
  const { status, stdout } = spawnSync(file!, [...args, ...evaluate], { encoding: "utf8" });
  if (status !== 0) throw new Error(`cannot run ${runtime}`);
  return [stdout.trim(), ...(runtime === "deno" ? ["run", "--no-check", "-A"] : [])];
}

function installNode(version: string): string {
  const system = process.platform === "win32" ? "win" : process.platform;
  return join(npmPackage(`node-${system}-${process.arch}`, version), "bin/node");
}
