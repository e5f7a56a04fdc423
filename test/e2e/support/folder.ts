// A folder of its own for one test, gone afterwards. Used by the end-to-end and fault tests.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs something with the path of an empty folder. */
export async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "reprise-data-"));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
