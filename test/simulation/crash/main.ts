// Runs the crash simulation for many seeds, or for one of them with everything that happens:
//
//   deno run -A test/simulation/crash/main.ts --seeds 10000 --from 1
//   deno run -A test/simulation/crash/main.ts --seed 4711 --trace

import process from "node:process";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { dump } from "./dump.ts";
import { run } from "./simulation.ts";

interface Request {
  from: number;
  seeds: number;
  trace: boolean;
  maxFailures: number;
}

function parse(args: string[]): Request {
  const request: Request = { from: 1, seeds: 1000, trace: false, maxFailures: 20 };
  for (let index = 0; index < args.length; index++) {
    const value = Number(args[index + 1]);
    if (args[index] === "--trace") {
      request.trace = true;
      continue;
    }
    if (args[index] === "--seeds") request.seeds = value;
    else if (args[index] === "--from") request.from = value;
    else if (args[index] === "--seed") Object.assign(request, { from: value, seeds: 1 });
    else if (args[index] === "--failures") request.maxFailures = value;
    else throw new Error(`unknown option ${args[index]}`);
    index++;
  }
  return request;
}

const request = parse(process.argv.slice(2));
const totals = { runs: 0, lives: 0, published: 0, confirmed: 0, operations: 0 };
const failures: string[] = [];
for (let seed = request.from; seed < request.from + request.seeds; seed++) {
  try {
    const print = (line: string) => console.log(line);
    const onFailure = (disk: MemoryDisk) => dump(disk, print);
    const options = request.trace ? { trace: print, onFailure } : {};
    const result = await run(seed, options);
    totals.runs++;
    totals.lives += result.lives;
    totals.published += result.published;
    totals.confirmed += result.confirmed;
    totals.operations += result.operations;
  } catch (error) {
    failures.push(String(seed));
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    console.log(request.trace ? text : text.split("\n").slice(0, 6).join("\n"));
    if (failures.length >= request.maxFailures) break;
  }
}
console.log(JSON.stringify({ ...totals, failed: failures.length }));
if (failures.length > 0) console.log(`failing seeds: ${failures.join(" ")}`);
process.exit(failures.length === 0 ? 0 : 1);
