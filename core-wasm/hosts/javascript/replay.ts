// Replays the shared vectors and the shared trace against the bare exports, as every host does.
// Called by the test of this repository, by the browser page and by the script that records the trace.

import { type CoreExports, instantiateCore } from "../../instance.ts";

/** What a replay of the trace comes to; the same on every host. */
export interface TraceResult {
  readonly operations: number;
  /** Length and hash of all results written one after the other. */
  readonly bytes: number;
  readonly sha256: string;
}

const groupCount = 4;

function popLines(core: CoreExports, nowMs: number, max: number): string {
  const count = core.pop_due(nowMs, max);
  const words = new Uint32Array(core.memory.buffer, core.area_at(), core.area_capacity() * 8);
  const doubles = new Float64Array(core.memory.buffer, core.area_at(), core.area_capacity() * 4);
  let lines = `d ${count}\n`;
  for (let at = 0; at < count; at++) {
    const [payload, group] = [words[at * 8], words[at * 8 + 1]];
    lines += `${payload} ${group} ${doubles[at * 4 + 1]} ${doubles[at * 4 + 2]}\n`;
  }
  return lines;
}

/** Runs every operation of a trace on a fresh core; the host brings the hash, in hexadecimal. */
export async function replayTrace(
  trace: string,
  sha256Of: (bytes: Uint8Array<ArrayBuffer>) => Promise<string>,
): Promise<TraceResult> {
  const core = instantiateCore();
  const groups = Array.from({ length: groupCount }, () => core.group_open());
  const handles: number[] = [];
  const results: string[] = [];
  const operations = trace.trimEnd().split("\n");
  for (const operation of operations) {
    const [kind, ...fields] = operation.split(" ");
    const [first = 0, second = 0, third = 0] = fields.map(Number);
    if (kind === "i") {
      const handle = core.insert(groups[first]!, second, third);
      handles.push(handle);
      results.push(`i ${handle}\n`);
    } else if (kind === "c") results.push(`c ${core.cancel(handles[first]!)}\n`);
    else if (kind === "p") results.push(`p ${core.group_clear(groups[first]!)}\n`);
    else results.push(popLines(core, first, second));
  }
  const bytes = new TextEncoder().encode(results.join(""));
  return { operations: operations.length, bytes: bytes.length, sha256: await sha256Of(bytes) };
}

/** The shared file `vectors/delay.json`. */
export interface DelayVectors {
  readonly delay: number[][];
  readonly jitter: number[][];
}

/** How many vectors the core answers otherwise than expected. */
export function wrongDelays({ delay, jitter }: DelayVectors): number {
  const core = instantiateCore();
  const wrong = (row: number[], found: number) => (found === row[row.length - 1] ? 0 : 1);
  let sum = 0;
  for (const row of delay) sum += wrong(row, core.delay(row[0]!, row[1]!, row[2]!, row[3]!));
  for (const row of jitter) sum += wrong(row, core.jitter(row[0]!, row[1]!, row[2]!));
  return sum;
}
