// What the browser page imports: the bindings and the replay, bundled into one file by
// scripts/test_core_hosts.ts. The page itself is index.html.

export { backoff, DueBatch, TimingHeap } from "../../mod.ts";
export { replayTrace, wrongDelays } from "../javascript/replay.ts";
