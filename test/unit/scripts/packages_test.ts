// Whether npm has to install anything before Bun or Node can run the sources.

import { assert, assertFalse } from "@std/assert";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "../../../scripts/lib/packages.ts";

Deno.test("isInstalled() wants each package in the version that is asked for", () => {
  const project = mkdtempSync(join(tmpdir(), "reprise-packages-"));
  const write = (folder: string, manifest: unknown) => {
    mkdirSync(join(project, folder), { recursive: true });
    writeFileSync(join(project, folder, "package.json"), JSON.stringify(manifest));
  };
  try {
    write(".", { dependencies: { a: "1.0.0" }, devDependencies: { "@b/c": "2.0.0" } });
    assertFalse(isInstalled(project));
    write("node_modules/a", { version: "1.0.0" });
    assertFalse(isInstalled(project));
    write("node_modules/@b/c", { version: "1.9.9" });
    assertFalse(isInstalled(project));
    write("node_modules/@b/c", { version: "2.0.0" });
    assert(isInstalled(project));
  } finally {
    rmSync(project, { recursive: true });
  }
});
