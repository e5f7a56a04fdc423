// What a regular expression of a user costs: compiling it, and matching a name with it, for patterns as
// people write them and for patterns that are made to take forever. Beside ours stands JavaScript's RegExp,
// where it comes to an end, and another engine if --other names a module that exports RE2JS. Run it with
// any runtime; it prints the best of several runs, for a machine that does other work too:
//
//   node bench/patterns.ts [--other file:///…/re2js/build/index.js]

import process from "node:process";
import { LinearPattern } from "../src/lib/pattern/linear_pattern.ts";

const RUNS = 7;
const RUN_MS = 20;
const NAME = "orders.eu-west.invoices.created";
const LONG = "a".repeat(255);

/** Name, pattern, text, and whether RegExp comes to an end. */
const CASES: readonly (readonly [string, string, string, boolean])[] = [
  ["everything", ".*", NAME, true],
  ["prefix", "^orders\\..*", NAME, true],
  ["one of", "^(billing|orders|shipping)\\.[a-z-]+\\.", NAME, true],
  ["suffix", ".*\\.created$", NAME, true],
  ["not amq", "^(?!amq\\.).*", NAME, true],
  ["look-behind", "(?<!\\.dead)\\.created$", NAME, true],
  ["word by word", "^(?:(?!tmp)[\\w-]+\\.)*created$", NAME, true],
  ["no match", "^payments\\.", NAME, true],
  [
    "a list of 100",
    `^(${Array.from({ length: 100 }, (_, i) => `queue-${i}`).join("|")})$`,
    NAME,
    true,
  ],
  ["(a+)+b", "(a+)+b", LONG, false],
  ["(a|a)*b", "(a|a)*b", LONG, false],
  ["(.*a){20}b", "(.*a){20}b", LONG, false],
  ["many options", "(.?){200}(a|b|c){50}z$", LONG, false],
  ["nested look", "^(?:(?=(?=(?:a+)+b|.*)a+)(?!(?:a|a)*b).)*b$", LONG, false],
  ["atomic in loops", "(?:(?>a|aa)+a?)*b", LONG, false],
  ["largest", "(?:[ab]?){3300}z", LONG, false],
];

interface Engine {
  readonly name: string;
  compile(source: string): { test(text: string): boolean };
}

async function otherEngine(): Promise<Engine[]> {
  const at = process.argv.indexOf("--other");
  if (at < 0) return [];
  const { RE2JS } = await import(process.argv[at + 1]!);
  return [{ name: "re2js", compile: (source) => RE2JS.compile(source, RE2JS.LOOKBEHINDS) }];
}

/** The best time of one call, in microseconds. */
function measure(call: () => unknown): string {
  let best = Infinity;
  for (let run = 0; run < RUNS; run++) {
    const startMs = performance.now();
    let count = 0;
    let elapsedMs = 0;
    while (elapsedMs < RUN_MS) {
      call();
      count++;
      elapsedMs = performance.now() - startMs;
    }
    best = Math.min(best, elapsedMs * 1000 / count);
  }
  return best.toFixed(best < 100 ? 2 : 0);
}

function measureEngine(engine: Engine, source: string, text: string): string {
  try {
    const compiled = engine.compile(source);
    return `${measure(() => engine.compile(source))} / ${measure(() => compiled.test(text))}`;
  } catch {
    return "refused";
  }
}

const others = await otherEngine();
const engines: readonly Engine[] = [
  { name: "ours", compile: (source) => new LinearPattern(source) },
  ...others,
];
const native: Engine = { name: "RegExp", compile: (source) => new RegExp(source) };
console.log(
  "compile / match, µs".padEnd(22),
  ...[...engines, native].map(({ name }) => name.padEnd(18)),
);
for (const [name, source, text, isSafe] of CASES) {
  const cells = engines.map((engine) => measureEngine(engine, source, text));
  cells.push(isSafe ? measureEngine(native, source, text) : "not tried");
  console.log(name.padEnd(22), ...cells.map((cell) => cell.padEnd(18)));
}
