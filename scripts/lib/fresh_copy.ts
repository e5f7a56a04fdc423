// A copy of the project as a clone would have it: what git tracks or would track, nothing installed or
// built. Checks that a bare machine can follow the README run in one. Never touches the original.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "./runtimes.ts";

/** A copy and how to be rid of it. */
export interface FreshCopy {
  /** The folder of the copy. */
  path: string;
  /** Removes it. */
  remove(): void;
}

/** Copies the project into a new temporary folder. */
export function freshCopy(): FreshCopy {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout, status } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error("a fresh copy needs git and a checkout");
  const path = mkdtempSync(join(tmpdir(), "reprise-copy-"));
  for (const file of stdout.split("\0")) {
    // Deleted in the work tree but not yet committed.
    if (file === "" || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(path, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(path, file));
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
