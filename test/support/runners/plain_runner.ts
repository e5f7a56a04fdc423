// Runs test files one after another and writes a JUnit report: a runner that is the same on every runtime,
// also on a Node whose own lacks what we need. Started by scripts/lib/dist_tests.ts with the report's path
// and the files, already compiled. A test that fails does not stop the others; one that hangs ends with
// the time limit.

import { writeFileSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { installDenoTest, type TestDefinition } from "./shim.ts";
import { TEST_TIMEOUT_MS } from "./timeout.ts";

const tests: TestDefinition[] = [];
const own = (globalThis as { Deno?: object }).Deno;
installDenoTest((definition) => void tests.push(definition));
const shim = (globalThis as { Deno?: object }).Deno;
// Deno has more than tests, which the broker asks for.
if (own !== undefined) {
  Object.defineProperty(own, "test", { value: Reflect.get(shim!, "test"), configurable: true });
  Object.defineProperty(globalThis, "Deno", { value: own, configurable: true });
}

function bounded(fn: TestDefinition["fn"]): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`took more than ${TEST_TIMEOUT_MS} ms`));
    const limit = setTimeout(late, TEST_TIMEOUT_MS);
    Promise.resolve().then(fn).then(resolve, reject).finally(() => clearTimeout(limit));
  });
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
};

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&${ENTITIES[character]};`);
}

/** Runs one test; its entry in the report. */
async function entryOf({ name, fn, ignore }: TestDefinition): Promise<string> {
  const open = `<testcase name="${escape(name)}"`;
  if (ignore === true) return `${open}><skipped/></testcase>`;
  try {
    await bounded(fn);
    return `${open}/>`;
  } catch (error) {
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    console.log(`FAILED ${name}\n${text}`);
    return `${open}><failure>${escape(text)}</failure></testcase>`;
  }
}

const [report, ...files] = process.argv.slice(2);
for (const file of files) await import(pathToFileURL(file).href);
const entries: string[] = [];
for (const test of tests) entries.push(await entryOf(test));
writeFileSync(report!, `<testsuites>\n${entries.join("\n")}\n</testsuites>\n`);
// What a test leaves open is found under Deno.
process.exit(entries.some((entry) => entry.includes("<failure>")) ? 1 : 0);
