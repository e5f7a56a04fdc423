// Runs the examples of README.md and docs/ that are marked for running, each page in a fresh copy of
// the project, as a reader with a clone would. CI calls it; it fails if README.md has no example that
// starts the broker, so that it cannot pass by checking nothing.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { type Background, startUntil } from "./lib/background.ts";
import { type FreshCopy, freshCopy } from "./lib/fresh_copy.ts";
import { run, type RunOptions } from "./lib/process.ts";
import { type Block, missingLine, movePorts, runnableBlocks } from "./lib/readme_blocks.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";
import { addCheck, closingLine, emptyTally, type Tally } from "./lib/tally.ts";
import { pythonWithPika, runtimesFolder } from "./lib/tools.ts";

const BLOCK_MS = 300_000;

interface Page {
  copy: FreshCopy;
  ports: { amqp: number; http: number };
  background?: Background;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** The command for a block; programs are written into the page's copy, where imports resolve. */
function commandOf(block: Block, page: Page): string[] {
  const code = movePorts(block.code, page.ports);
  if (block.language === "sh" || block.language === "bash") return ["bash", "-euc", code];
  const file = join(page.copy.path, `example_${block.line}.${block.language}`);
  writeFileSync(file, code);
  if (block.language === "py") return [pythonWithPika(), file];
  if (block.language === "js" || block.language === "ts") {
    return [...denoCommand(), "run", "-A", file];
  }
  throw new Error(`cannot run ${block.language}`);
}

function optionsOf(block: Block, page: Page): RunOptions {
  const runtimes = block.with.filter((name) => name !== "python");
  const path = runtimes.length === 0 ? [] : [runtimesFolder(runtimes)];
  if (block.with.includes("python")) path.push(dirname(pythonWithPika()));
  return {
    cwd: page.copy.path,
    quiet: true,
    timeoutMs: BLOCK_MS,
    env: {
      PATH: [...path, process.env["PATH"]].join(":"),
      REPRISE_AMQP_PORT: String(page.ports.amqp),
      REPRISE_HTTP_PORT: String(page.ports.http),
    },
  };
}

/** Runs one block; undefined if all is well, else what is wrong. */
async function runBlock(block: Block, page: Page): Promise<string | undefined> {
  if (block.save !== undefined) {
    writeFileSync(join(page.copy.path, block.save), movePorts(block.code, page.ports));
    return undefined;
  }
  if (block.isFresh || block.until !== undefined) {
    await page.background?.stop();
    delete page.background;
  }
  if (block.isFresh) {
    page.copy.remove();
    page.copy = freshCopy();
  }
  if (block.until !== undefined) {
    try {
      const options = optionsOf(block, page);
      page.background = await startUntil(commandOf(block, page), block.until, options);
      return undefined;
    } catch (error) {
      return String(error);
    }
  }
  const { code, output, timedOut } = await run(commandOf(block, page), optionsOf(block, page));
  if (timedOut) return `did not end in time:\n${output}`;
  if (code !== 0) return `exit code ${code}:\n${output}`;
  const missing = missingLine(block.output, output);
  return missing === undefined ? undefined : `did not print "${missing}" in its turn:\n${output}`;
}

async function runPage(blocks: readonly Block[], tally: Tally): Promise<void> {
  const page: Page = {
    copy: freshCopy(),
    ports: { amqp: await freePort(), http: await freePort() },
  };
  try {
    for (const block of blocks) {
      const problem = await runBlock(block, page);
      addCheck(tally, `${block.path}:${block.line}`, problem === undefined);
      console.log(`${block.path}:${block.line} ${problem ?? "ok"}`);
    }
  } finally {
    await page.background?.stop();
    page.copy.remove();
  }
}

/** Runs every marked example, or those of the pages named; the tally counts one per block. */
export async function checkReadme(only: readonly string[] = []): Promise<Tally> {
  const tally = emptyTally();
  const docs = existsSync(join(ROOT, "docs")) ? readdirSync(join(ROOT, "docs")).sort() : [];
  const paths = [
    "README.md",
    ...docs.filter((name) => name.endsWith(".md")).map((n) => `docs/${n}`),
  ];
  let starts = 0;
  for (const path of paths) {
    if (only.length > 0 && !only.includes(path)) continue;
    if (!existsSync(join(ROOT, path))) {
      addCheck(tally, `${path} is missing`, false);
      continue;
    }
    const blocks = runnableBlocks(path, readFileSync(join(ROOT, path), "utf8"));
    if (path === "README.md") starts += blocks.filter(({ until }) => until !== undefined).length;
    if (blocks.length > 0) await runPage(blocks, tally);
  }
  if (only.length === 0) {
    addCheck(tally, "README.md has an example that starts the broker", starts > 0);
  }
  return tally;
}

if (import.meta.main) {
  const tally = await checkReadme(process.argv.slice(2));
  for (const failure of tally.failures) console.log(`failed: ${failure}`);
  console.log(closingLine(tally));
  process.exit(tally.failed === 0 ? 0 : 1);
}
