// Records a random run of the core for hosts to replay: core-wasm/vectors/trace.txt and, from this
// runtime's own replay, trace_result.json. Run by `deno run -A scripts/make_core_trace.ts` after a
// change of the core; core-wasm/hosts/README.md describes both files.

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { replayTrace } from "../core-wasm/hosts/javascript/replay.ts";

const operationCount = 100_000;
const groupCount = 4;

/** A seeded generator: the same trace from every run. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function recordTrace(): string {
  const random = seededRandom(20_261_130);
  const below = (limit: number) => Math.floor(random() * limit);
  const lines: string[] = [];
  let nowMs = 1_000_000;
  let insertions = 0;
  while (lines.length < operationCount) {
    const kind = below(1_000);
    if (kind < 620) {
      // Delays of all magnitudes up to 2^41 ms, rarely the last representable time, rarely late.
      let dueMs = nowMs + below(2 ** (1 + below(kind < 20 ? 41 : 22)));
      if (kind === 30) dueMs = Number.MAX_SAFE_INTEGER;
      if (kind > 600) dueMs = Math.max(0, nowMs - below(10_000));
      lines.push(`i ${below(groupCount)} ${dueMs} ${insertions++}`);
    } else if (kind < 820) {
      if (insertions > 0) lines.push(`c ${insertions - 1 - below(Math.min(insertions, 5_000))}`);
    } else if (kind < 821) {
      lines.push(`p ${below(groupCount)}`);
    } else {
      nowMs += below(kind < 840 ? 200_000 : 200);
      lines.push(`d ${nowMs} ${below(64)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const trace = recordTrace();
const result = await replayTrace(
  trace,
  (bytes) => Promise.resolve(createHash("sha256").update(bytes).digest("hex")),
);
const vectorsDir = new URL("../core-wasm/vectors/", import.meta.url);
await writeFile(new URL("trace.txt", vectorsDir), trace);
await writeFile(new URL("trace_result.json", vectorsDir), `${JSON.stringify(result, null, 2)}\n`);
console.log(result);
