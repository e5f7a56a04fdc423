// Finding the examples in a page, and comparing what they print with what the page says.
import { assertEquals, assertThrows } from "@std/assert";
import { missingLine, movePorts, runnableBlocks } from "../../../scripts/lib/readme_blocks.ts";

const PAGE = [
  "# Page",
  "```sh",
  "not run",
  "```",
  '```sh run fresh until="reprise ready" with="deno bun"',
  "deno task start",
  "```",
  "1. in a list:",
  "   ```js run",
  "   one();",
  "     two();",
  "   ```",
  "   ```text output",
  "   first",
  "",
  "   then ... ms",
  "   ```",
  "````md run",
  "```sh run",
  "````",
].join("\n");

Deno.test("runnableBlocks() finds marked blocks with their attributes and output", () => {
  const blocks = runnableBlocks("a.md", PAGE);
  assertEquals(blocks, [
    {
      path: "a.md",
      line: 5,
      language: "sh",
      code: "deno task start\n",
      until: "reprise ready",
      isFresh: true,
      with: ["deno", "bun"],
      output: [],
    },
    {
      path: "a.md",
      line: 9,
      language: "js",
      code: "one();\n  two();\n",
      isFresh: false,
      with: [],
      output: ["first", "then ... ms"],
    },
    {
      path: "a.md",
      line: 18,
      language: "md",
      code: "```sh run\n",
      isFresh: false,
      with: [],
      output: [],
    },
  ]);
});

Deno.test("runnableBlocks() finds blocks to be saved for a later one", () => {
  const [block, ...others] = runnableBlocks("a.md", '```js save="a.mjs"\none();\n```\n');
  assertEquals([block?.save, block?.code, others.length], ["a.mjs", "one();\n", 0]);
});

Deno.test("runnableBlocks() refuses an open fence and output of nothing", () => {
  assertThrows(() => runnableBlocks("a.md", "```sh run\nx"), Error, "never closed");
  assertThrows(() => runnableBlocks("a.md", "```text output\nx\n```"), Error, "a.md:1");
});

Deno.test("missingLine() wants the lines in order, with ... for anything", () => {
  const printed = "start\n  attempt 1 after 0 ms\nnoise\nattempt 2 after 503 ms\ndone (ok)\n";
  assertEquals(
    missingLine(["attempt 1 after ... ms", "attempt 2 after 5... ms"], printed),
    undefined,
  );
  assertEquals(missingLine(["done (ok)"], printed), undefined);
  assertEquals(missingLine(["attempt 2 ...", "attempt 1 ..."], printed), "attempt 1 ...");
  assertEquals(missingLine(["attempt"], printed), "attempt");
  assertEquals(missingLine(["done .ok."], printed), "done .ok.");
});

Deno.test("movePorts() moves both ports and no other number", () => {
  const code = "amqp://localhost:5672 http://localhost:15672 25672";
  assertEquals(
    movePorts(code, { amqp: 1, http: 2 }),
    "amqp://localhost:1 http://localhost:2 25672",
  );
});
