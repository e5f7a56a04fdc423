// Finds what the oldest Node that `dist/` is made for does not have: the types of the sources, checked
// against that Node's own types and the ECMAScript library of its time. So a newer method is an error when
// it is written and not when it is called there. Used by scripts/check_engine.ts. The adapters of Deno and
// Bun are left out, they run nowhere else.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { npmPackage } from "./packages.ts";
import { run } from "./process.ts";
import { ROOT } from "./runtimes.ts";
import { tscCommand } from "./tools.ts";

/** Types of the oldest Node; those of its first release do not describe its web interfaces yet. */
const TYPES_VERSION = "20.19.43";
const LIBRARY = "es2023";

/** What it has and its types leave out. */
const UNDESCRIBED = `
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array | ArrayBuffer);
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, never>);
    readonly exports: Record<string, unknown>;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
  }
}
`;

/** The folder with the types of the oldest Node, brought on first use. */
export function bringTypes(): string {
  return dirname(npmPackage("@types/node", TYPES_VERSION));
}

const FOREIGN = /^src\/runtime\/(deno|bun)\//;

/** Syntax that the compiler takes for any library, and what Node got during version 20. */
const NEWER_SYNTAX: readonly RegExp[] = [
  /^\s*(?:await )?using \w+ =/,
  /\bfor \((?:await )?(?:const )?using \w+ of\b/,
  /\bimport\.meta\.(?:dirname|filename|main|resolve)\b/,
  /\bimport (?:defer|source) /,
  /\bprocess\.getBuiltinModule\b/,
  /\bnew WebSocket\(/,
];

/** Lines of one file with syntax that the oldest engine does not have. */
export function newerSyntax(path: string, text: string): string[] {
  if (FOREIGN.test(path)) return [];
  return text.split("\n").flatMap((line, index) =>
    NEWER_SYNTAX.some((pattern) => pattern.test(line))
      ? [`${path}(${index + 1}): ${line.trim()}`]
      : []
  );
}

/** What the files and their imports use that the oldest engine does not have, one line each. */
export async function newerThanOldest(files: readonly string[]): Promise<string[]> {
  const scratch = mkdtempSync(join(tmpdir(), "reprise-engine-"));
  try {
    const declarations = join(scratch, "undescribed.d.ts");
    writeFileSync(declarations, UNDESCRIBED);
    const flags = "--ignoreConfig --noEmit --pretty false --strict --noUncheckedIndexedAccess " +
      "--exactOptionalPropertyTypes --allowImportingTsExtensions --skipLibCheck " +
      "--target es2022 --module preserve --moduleResolution bundler --types node";
    const where = ["--lib", LIBRARY, "--typeRoots", bringTypes()];
    const command = [...tscCommand(), ...flags.split(" "), ...where, declarations, ...files];
    const { code, output } = await run(command, { cwd: ROOT, quiet: true });
    const found = output.split("\n").filter((line) => /^\S.*: error TS\d+/.test(line));
    if (code !== 0 && found.length === 0) throw new Error(`the compiler failed:\n${output}`);
    return found.filter((line) => !FOREIGN.test(line));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
