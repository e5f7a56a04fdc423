// The current process for Bun: node/process.ts, which Bun can run, except for the version. main.ts and
// server.ts call it; features never do.

import { bun } from "./api.ts";

export {
  args,
  environment,
  exit,
  hostName,
  onSignal,
  onUncaught,
  processId,
  readTextFile,
  residentBytes,
  writeError,
  writeOut,
} from "../node/process.ts";

/** Returns the version of the runtime. */
export function version(): string {
  return bun().version;
}
