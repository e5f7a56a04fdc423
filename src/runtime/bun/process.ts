// The process around us for Bun: node's module, which Bun implements, but for the version. Called by
// main.ts and server.ts; never by a feature.

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

/** Version of the runtime itself. */
export function version(): string {
  return bun().version;
}
