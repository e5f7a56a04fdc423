// Checks what needs no syntax tree, over every text file of the project: length, leftover notes,
// blanket lint waivers, and words that belong to a workplace rather than to the project. Called by
// `deno task lint`; it reports and never rewrites. scripts/lint_shape.ts checks the rest.

import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { ROOT } from "./lib/runtimes.ts";

/** A file is one concept: beyond this length look whether it has become two. */
const SOURCE_LINES_MAX = 500;
const TEST_LINES_MAX = 600;

const SKIPPED_FOLDERS = new Set([
  ".git",
  ".cache",
  "node_modules",
  "dist",
  "reprise-data",
  "history",
]);
const TEXT =
  /(\.(ts|js|mjs|json|md|py|c|h|sh|toml|yml|yaml|css|html|txt|tsv|svg)|\/\.ci\/run|\/LICENSE)$/;
const GENERATED = /(_gen\.ts|(^|\/)(deno\.lock|vectors.*\.json|amqp-rabbitmq.*\.json))$/;
const CODE = /\.(ts|js|mjs|py)$/;

/** Checked line by line in every file; composed so that this file does not contain what it bans. */
const BANNED: readonly (readonly [pattern: RegExp, what: string])[] = [
  [new RegExp("\\b(TO" + "DO|FIX" + "ME|XX" + "X|HA" + "CK)\\b"), "a note for later"],
  [/\/work\/(main|shared|\.)/, "a path of one machine"],
  [/\bregistry\.\w+js\.org\b|\bpypi\.\w+\b|\bdeb\.debian\b|\bproxy\.golang\b/, "a registry host"],
  [/\b(repo\d?|central)\.maven\b|\bcrates\.io\b|\b(npm|yarn)\.pkg\b/, "a registry host"],
  [/\bissue\s#?\d+\b/i, "a task number"],
  [/\b(spec|design)\/[\w-]+\.[m]d\b/, "a page that is not here (docs/ has those that are)"],
  [/deno-lint-ignore(-file)?\s*$/, "a lint waiver that names no rule"],
  [/deno-lint-ignore.*reprise-[l]ayers/, "a waiver of the layer rules"],
];

const TYPE_WAIVER = /@ts-(ignore|nocheck)/;
/** Not TypeScript to its compiler: an editor needs the waiver at each decorated function. */
const ASSEMBLY = "core-wasm/assembly/";

/** One thing found: where and what. */
export interface Finding {
  /** The file, relative to the project. */
  path: string;
  /** The line, from 1; 0 for the file as a whole. */
  line: number;
  /** What is wrong. */
  what: string;
}

/** Everything wrong with one file. */
export function inspect(path: string, text: string): Finding[] {
  const findings: Finding[] = [];
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  const most = lengthLimit(path);
  if (lines.length > most) {
    findings.push({ path, line: 0, what: `${lines.length} lines, more than ${most}` });
  }
  if (GENERATED.test(path)) return findings;
  for (const [index, line] of lines.entries()) {
    for (const [pattern, what] of BANNED) {
      if (pattern.test(line)) findings.push({ path, line: index + 1, what });
    }
    if (TYPE_WAIVER.test(line) && !path.startsWith(ASSEMBLY)) {
      const what = "a waiver of type checking (use @ts-expect-error with a reason)";
      findings.push({ path, line: index + 1, what });
    }
  }
  return findings;
}

function lengthLimit(path: string): number {
  if (GENERATED.test(path) || !CODE.test(path)) return Infinity;
  return path.startsWith("test/") ? TEST_LINES_MAX : SOURCE_LINES_MAX;
}

/** Every text file of the project, relative to its folder. */
export function projectFiles(folder = ""): string[] {
  return readdirSync(ROOT + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder + entry.name;
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : projectFiles(`${path}/`);
    return entry.isFile() && TEXT.test(`/${path}`) ? [path] : [];
  });
}

if (import.meta.main) {
  const files = projectFiles();
  const findings = files.flatMap((path) => inspect(path, readFileSync(ROOT + path, "utf8")));
  for (const { path, line, what } of findings) {
    console.log(line === 0 ? `${path}: ${what}` : `${path}:${line}: ${what}`);
  }
  console.log(`tidy: ${files.length} files, ${findings.length} findings`);
  process.exit(findings.length === 0 ? 0 : 1);
}
