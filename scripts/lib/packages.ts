// Packages that npm brings: one tool or older version of something into a folder of its own, and what the
// sources import under Bun and Node into the project's node_modules. Deno needs neither, it keeps its
// packages outside of the project. Called by the scripts; it never changes package.json.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

/**
 * What the scripts fetch and make for themselves. It is not in node_modules: Bun brings its packages by
 * itself, but only where there is no such folder.
 */
export const CACHE: string = join(ROOT, ".cache");

const NPM_FLAGS = ["--no-audit", "--no-fund", "--no-package-lock"];

function npm(args: readonly string[], cwd: string, what: string): void {
  const { status, stderr } = spawnSync("npm", [...args, ...NPM_FLAGS], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm could not bring ${what}: ${stderr ?? "is npm there?"}`);
}

/** The folder of one package in exactly that version, brought on first use. */
export function npmPackage(name: string, version: string): string {
  const folder = join(CACHE, `${name.replaceAll(/[@/]+/g, "-").replace(/^-/, "")}-${version}`);
  const path = join(folder, "node_modules", name);
  if (existsSync(path)) return path;
  // Made aside and moved, so that nobody who runs at the same time finds half of it.
  mkdirSync(CACHE, { recursive: true });
  const aside = mkdtempSync(`${folder}.new-`);
  try {
    // Without a package.json of its own npm would install into the project.
    writeFileSync(join(aside, "package.json"), "{}\n");
    npm(["install", "--no-save", `${name}@${version}`], aside, `${name}@${version}`);
    if (!existsSync(path)) renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return path;
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest | undefined {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}

/** Whether node_modules of a project holds each package that it asks for, in that version. */
export function isInstalled(project: string): boolean {
  const { dependencies, devDependencies } = manifestOf(project) ?? {};
  return Object.entries({ ...dependencies, ...devDependencies }).every(([name, version]) =>
    manifestOf(join(project, "node_modules", name))?.version === version
  );
}

/**
 * Has npm install what the sources and tests import under Bun and Node, unless it is there. What an older
 * Deno task left in node_modules goes first: npm cannot read it.
 */
export function installForNode(project: string = ROOT): void {
  if (isInstalled(project)) return;
  const modules = join(project, "node_modules");
  if (existsSync(join(modules, ".deno"))) rmSync(modules, { recursive: true });
  npm(["install"], project, "the packages of package.json");
}
