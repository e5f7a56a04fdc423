// Finds the examples in Markdown pages that are marked for running, and what they should print. Used by
// scripts/check_readme.ts; it only reads text. CONTRIBUTING.md explains the marks to writers.
//
//   ```sh run                       runs to its end and must exit with 0
//   ```sh run until="ready"         keeps running once it printed that text, until the next one
//   ```sh run with="deno bun node python"  finds these commands in PATH, as we test with them
//   ```sh run fresh                 in a new copy of the project, where nothing was installed before
//   ```js run   ```ts run   ```py run   client programs, run by Deno or by Python with pika
//   ```js save="a.mjs"              any language: written to that file, for a later block to run
//   ```text output                  right after a block: these lines appear in this order;
//                                   `...` in a line stands for anything

/** One example to run. */
export interface Block {
  /** The page it stands on. */
  path: string;
  /** The line of its opening fence, from 1. */
  line: number;
  /** First word of the fence. */
  language: string;
  /** What stands inside the fence. */
  code: string;
  /** The text after which the program is left running. */
  until?: string;
  /** The file to write it to instead of running it. */
  save?: string;
  /** Whether it needs a copy of the project in which nothing ran before. */
  isFresh: boolean;
  /** Commands that must be found. */
  with: string[];
  /** Lines expected in the output. */
  output: string[];
}

interface Fence {
  line: number;
  info: string;
  code: string;
}

const FENCE = /^(\s*)(```+)(.*)$/;

function fences(text: string): Fence[] {
  const found: Fence[] = [];
  let open: (Fence & { indent: string; marks: string }) | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const [, indent = "", marks = "", info = ""] = FENCE.exec(line) ?? [];
    if (open === undefined) {
      if (marks !== "") open = { line: index + 1, info: info.trim(), code: "", indent, marks };
    } else if (marks.length >= open.marks.length && info.trim() === "") {
      found.push({ line: open.line, info: open.info, code: open.code });
      open = undefined;
    } else {
      open.code += `${line.startsWith(open.indent) ? line.slice(open.indent.length) : line}\n`;
    }
  }
  if (open !== undefined) throw new Error(`line ${open.line}: the fence is never closed`);
  return found;
}

function attribute(info: string, name: string): string | undefined {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(info)?.[1];
}

/** Every block of a page that is marked for running, in order. */
export function runnableBlocks(path: string, text: string): Block[] {
  const blocks: Block[] = [];
  let last: Block | undefined;
  for (const { line, info, code } of fences(text)) {
    const words = info.split(/\s+/);
    const [language = "", mark] = words;
    if (mark === "output") {
      if (last === undefined) throw new Error(`${path}:${line}: output of no block`);
      last.output.push(...code.split("\n").filter((one) => one.trim() !== ""));
    }
    last = undefined;
    const save = attribute(info, "save");
    if (mark !== "run" && save === undefined) continue;
    const until = attribute(info, "until");
    last = {
      path,
      line,
      language,
      code,
      ...(until === undefined ? {} : { until }),
      ...(save === undefined ? {} : { save }),
      isFresh: words.includes("fresh"),
      with: (attribute(info, "with") ?? "").split(/\s+/).filter((name) => name !== ""),
      output: [],
    };
    blocks.push(last);
  }
  return blocks;
}

/** The first expected line that does not appear in its turn, or undefined if all do. */
export function missingLine(expected: readonly string[], printed: string): string | undefined {
  const lines = printed.split("\n").map((line) => line.trim());
  let next = 0;
  for (const want of expected) {
    const pattern = linePattern(want.trim());
    while (next < lines.length && !pattern.test(lines[next]!)) next++;
    if (next === lines.length) return want;
    next++;
  }
  return undefined;
}

function linePattern(line: string): RegExp {
  const parts = line.split(/\.\.\.|…/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

/** Moves the well-known ports of an example to free ones, so that it runs beside anything else. */
export function movePorts(code: string, ports: { amqp: number; http: number }): string {
  return code.replace(/\b15672\b/g, String(ports.http)).replace(/\b5672\b/g, String(ports.amqp));
}
