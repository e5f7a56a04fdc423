// Runs the crash simulation for many seeds, or for one of them with everything that happens:
//
//   deno run -A test/simulation/crash/main.ts --seeds 10000 --from 1
//   deno run -A test/simulation/crash/main.ts --seed 4711 --trace
//
// With --crowded much is written to pages and moved, with --flips bits turn over in files, and with
// --planted it says how many of the seeds find each bug that is planted.

import process from "node:process";
import { runFlips } from "./flips.ts";
import { dump } from "./dump.ts";
import { Violation } from "./ledger.ts";
import { crowded, type Plan, planOf } from "./plan.ts";
import { PLANTED_BUGS } from "./planted_bugs.ts";
import { run, type RunOptions } from "./simulation.ts";

interface Request {
  kind: "crashes" | "flips" | "planted";
  isCrowded: boolean;
  from: number;
  seeds: number;
  trace: boolean;
  maxFailures: number;
}

type Totals = Record<string, number>;

function parse(args: string[]): Request {
  const request: Request = {
    kind: "crashes",
    isCrowded: false,
    from: 1,
    seeds: 1000,
    trace: false,
    maxFailures: 20,
  };
  const switches: Record<string, Partial<Request>> = {
    "--trace": { trace: true },
    "--crowded": { isCrowded: true },
    "--flips": { kind: "flips" },
    "--planted": { kind: "planted" },
  };
  for (let index = 0; index < args.length; index++) {
    const name = args[index]!;
    if (name in switches) {
      Object.assign(request, switches[name]);
      continue;
    }
    const value = Number(args[++index]);
    if (name === "--seeds") request.seeds = value;
    else if (name === "--from") request.from = value;
    else if (name === "--seed") Object.assign(request, { from: value, seeds: 1 });
    else if (name === "--failures") request.maxFailures = value;
    else throw new Error(`unknown option ${name}`);
  }
  return request;
}

const request = parse(process.argv.slice(2));
const print = (line: string): void => console.log(line);

function planFor(seed: number): Plan {
  const plan = planOf(seed);
  return request.isCrowded ? crowded(plan) : plan;
}

function runSeed(seed: number): Totals | Promise<Totals> {
  const plan = planFor(seed);
  if (request.kind === "flips") return { ...runFlips(plan, request.trace ? print : () => {}) };
  const trace: RunOptions = request.trace
    ? { trace: print, onFailure: (disk) => dump(disk, print) }
    : {};
  return run(seed, { plan, ...trace }).then((result) => ({ ...result }));
}

/** How many seeds find each bug. */
async function countPlanted(): Promise<void> {
  for (const [name, withBug] of Object.entries(PLANTED_BUGS)) {
    let found = 0;
    let first = "";
    for (let seed = request.from; seed < request.from + request.seeds; seed++) {
      try {
        await withBug((options) => run(seed, { plan: planFor(seed), ...options }));
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        found++;
        first ||= error.message.split("\n")[0]!;
      }
    }
    print(`${found} of ${request.seeds} find that ${name}${found > 0 ? `: ${first}` : ""}`);
  }
}

/** Runs every seed; says how many failed. */
async function runSeeds(): Promise<number> {
  const totals: Totals = { runs: 0 };
  const failures: number[] = [];
  const end = request.from + request.seeds;
  for (let seed = request.from; seed < end && failures.length < request.maxFailures; seed++) {
    try {
      const { seed: _, ...counts } = await runSeed(seed);
      totals.runs!++;
      for (const [name, count] of Object.entries(counts)) {
        totals[name] = (totals[name] ?? 0) + count;
      }
    } catch (error) {
      failures.push(seed);
      const text = error instanceof Error ? error.stack ?? error.message : String(error);
      print(request.trace ? text : text.split("\n").slice(0, 6).join("\n"));
    }
  }
  print(JSON.stringify({ ...totals, failed: failures.length }));
  if (failures.length > 0) print(`failing seeds: ${failures.join(" ")}`);
  return failures.length;
}

if (request.kind === "planted") await countPlanted();
else if (await runSeeds() > 0) process.exit(1);
