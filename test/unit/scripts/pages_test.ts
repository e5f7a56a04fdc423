// What the pages say about the project is there: files they name, places they link to, the versions in
// their commands.
import { assertEquals } from "@std/assert";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, VERSIONS } from "../../../scripts/lib/runtimes.ts";

const DOCS = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "core-wasm/README.md",
  ...DOCS.map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found]) => found!);
}

/** The anchors of a page: its headings as GitHub makes links of them. */
function anchors(path: string): string[] {
  const headings = matches(readFileSync(join(ROOT, path), "utf8"), /^#+ (.*)$/gm);
  return headings.map((heading) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  );
}

Deno.test("pages name files that exist", () => {
  const missing = PAGES.flatMap(({ path, text }) =>
    matches(text, /`((?:src|core-wasm|test|bench|scripts|docs)\/[\w./-]+)`/g)
      .filter((file) => !existsSync(join(ROOT, file)))
      .map((file) => `${path}: ${file}`)
  );
  assertEquals(missing, []);
});

Deno.test("comments cite headings that exist", () => {
  const files = ["src", "test", "scripts", "core-wasm"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.includes("node_modules"))
      .map((name) => `${folder}/${name}`)
  );
  const missing: string[] = [];
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), "utf8").replaceAll(/\n\/\/ /g, " ");
    for (const [, page, heading] of text.matchAll(/((?:docs\/[\w-]+|[A-Z]+)\.md) "([^"]+)"/g)) {
      const cited = PAGES.find(({ path }) => path === page);
      if (cited === undefined || !cited.text.includes(`# ${heading}\n`)) {
        missing.push(`${file}: ${page} "${heading}"`);
      }
    }
  }
  assertEquals(missing, []);
});

Deno.test("pages link to places that exist", () => {
  const broken = PAGES.flatMap(({ path, text }) =>
    matches(text, /\]\(([^)\s]+)\)/g)
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [file = "", anchor] = link.split("#");
        const target = file === "" ? path : join(dirname(path), file);
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && !anchors(target).includes(anchor);
      })
      .map((link) => `${path}: ${link}`)
  );
  assertEquals(broken, []);
});

Deno.test("pages name the versions the project is tested with", () => {
  for (const { path, text } of PAGES) {
    for (const version of matches(text, /\bdeno@([\d.]+)/g)) {
      assertEquals(version, VERSIONS.deno, path);
    }
    for (const version of matches(text, /\bbun@([\d.]+)/g)) {
      assertEquals(version, VERSIONS.bun, path);
    }
  }
});
