// Which tests may kill a mutant of a file, the nearest ones first. run.ts goes on to the next stage
// only while no test has failed.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Folders of unit tests that see a layer at work, besides the folder at the same path. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  broker: ["test/unit/broker", "test/unit/session", "test/unit/management"],
  session: ["test/unit/session", "test/unit/server_test.ts"],
  store: ["test/unit/store", "test/unit/broker"],
};

/** Tests over the wire and simulations, for every layer. */
const WHOLE: readonly string[] = ["test/model", "test/simulation", "test/fuzz"];

/** The stages for one file of src/, each a list of test files or folders below `root`. */
export function stagesOf(file: string, root: string): string[][] {
  const path = file.replace(/^src\//, "test/unit/").replace(/\.ts$/, "_test.ts");
  const layer = file.split("/")[1] ?? "";
  const stages = [
    [path],
    [dirname(path), ...NEIGHBOURS[layer] ?? []],
    WHOLE,
  ];
  return stages
    .map((stage) => [...new Set(stage)].filter((one) => existsSync(join(root, one))))
    .filter((stage) => stage.length > 0);
}
