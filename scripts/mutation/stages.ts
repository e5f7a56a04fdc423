// Which tests may kill a mutant of a file, the nearest ones first. run.ts goes on to the next stage
// only while no test has failed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Folders of unit tests that see a layer at work, besides the folder at the same path. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  broker: ["test/unit/broker", "test/unit/session", "test/unit/management"],
  session: ["test/unit/session", "test/unit/server_test.ts"],
  store: ["test/unit/store", "test/unit/broker"],
};

/** Tests over the wire and simulations, for every layer. */
const WHOLE: readonly string[] = ["test/model", "test/simulation", "test/fuzz"];

/** Stages of {@linkcode stagesOf} at the end that are the same for every file of a layer. */
export const COMMON_STAGES = 2;

/**
 * The stages for one file of src/, each a list of test files or folders below `root`: the file's own
 * test, tests that import the file, tests of its layer and of those above, and the rest.
 */
export function stagesOf(file: string, root: string): string[][] {
  const path = file.replace(/^src\//, "test/unit/").replace(/\.ts$/, "_test.ts");
  const layer = file.split("/")[1] ?? "";
  const near = [dirname(path), ...NEIGHBOURS[layer] ?? []];
  const own = [path].filter((one) => existsSync(join(root, one)));
  const importing = testsOf(file, near, root).filter((test) => test !== path);
  const stages = [near, WHOLE]
    .map((stage) => [...new Set(stage)].filter((one) => existsSync(join(root, one))));
  return [...[own, importing].filter((stage) => stage.length > 0), ...stages];
}

function testsOf(file: string, folders: readonly string[], root: string): string[] {
  const imported = `../${file}"`;
  const found = new Set<string>();
  for (const folder of folders) {
    if (folder.endsWith(".ts") || !existsSync(join(root, folder))) continue;
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      const test = join(folder, name);
      if (!name.endsWith("_test.ts")) continue;
      if (readFileSync(join(root, test), "utf8").includes(imported)) found.add(test);
    }
  }
  return [...found];
}
