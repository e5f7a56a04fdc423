// Which tests may kill a mutant of a file, the nearest ones first. run.ts goes on to the next stage
// only while no test has failed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Folders of quick tests that see a layer at work, besides the folder at the same path. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  broker: ["test/unit/broker", "test/unit/session", "test/unit/management"],
  session: ["test/unit/session", "test/unit/server_test.ts"],
  store: ["test/unit/store", "test/unit/broker", "test/simulation/crash"],
};

/** Tests over the wire and simulations, for every layer. */
const WHOLE: readonly string[] = ["test/model", "test/simulation", "test/fuzz"];

/** Stages of {@linkcode stagesOf} at the end that are the same for every file of a layer. */
export const COMMON_STAGES = 2;

/** So many steps of imports away are tests tried before all of a layer. */
const STEPS = 4;

/**
 * The stages for one file of src/, each a list of test files or folders below `root`: the file's own
 * test, tests that import the file, those that import what imports it and so on, tests of its layer and
 * of those above, and the rest.
 */
export function stagesOf(file: string, root: string): string[][] {
  const own = file.replace(/^src\//, "test/unit/").replace(/\.ts$/, "_test.ts");
  const layer = file.split("/")[1] ?? "";
  const near = [dirname(own), ...NEIGHBOURS[layer] ?? []]
    .filter((one, at, all) => existsSync(join(root, one)) && all.indexOf(one) === at);
  const tests = filesIn(near, root, "_test.ts");
  const sources = filesIn([join("src", layer)], root, ".ts");
  const stages = [tests.filter((test) => test === own)];
  let imported = [file];
  for (let step = 0; step < STEPS; step++) {
    const before = stages.flat();
    stages.push(importersOf(imported, tests, root).filter((test) => !before.includes(test)));
    imported = importersOf(imported, sources, root);
  }
  stages.push(near, WHOLE.filter((one) => existsSync(join(root, one))));
  return stages.filter((stage) => stage.length > 0);
}

function filesIn(folders: readonly string[], root: string, ending: string): string[] {
  const found = new Set<string>();
  for (const folder of folders) {
    if (folder.endsWith(".ts") || !existsSync(join(root, folder))) continue;
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (name.endsWith(ending)) found.add(join(folder, name));
    }
  }
  return [...found];
}

/** Those of `files` that import one of `imported`. */
function importersOf(imported: readonly string[], files: string[], root: string): string[] {
  const sought = new Set(imported);
  return files.filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [...text.matchAll(/from "(\.[^"]+)"/g)].some(([, path]) =>
      sought.has(join(dirname(file), path!))
    );
  });
}
