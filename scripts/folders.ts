// Draws which folder of src/ imports which, and fails where the drawing is not as the tables say: an
// arrow against the direction, a circle between folders, a door that nobody uses. It asks Deno for the
// imports, type imports included. `deno task folders` prints the drawing; CI runs it as a gate.

import process from "node:process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { readdirSync } from "node:fs";
import { FOLDERS, nameOf, placeOf } from "./lint/folders.ts";
import { arrowProblem } from "./lint/layers.ts";
import { run } from "./lib/process.ts";
import { denoCommand, ROOT } from "./lib/runtimes.ts";

/** One import of one file by another; paths are relative to the project. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
}

/** For each folder the folders that it imports, with the number of imports. */
export type Drawing = Map<string, Map<string, number>>;

/** Counts the imports between folders. */
export function draw(arrows: readonly Arrow[]): Drawing {
  const drawing: Drawing = new Map();
  for (const { from, to } of arrows) {
    const [a, b] = [nameOf(placeOf(from)), nameOf(placeOf(to))];
    const targets = drawing.get(a) ?? new Map<string, number>();
    drawing.set(a, targets);
    if (a !== b) targets.set(b, (targets.get(b) ?? 0) + 1);
  }
  return drawing;
}

/** Returns a circle of folders, or null if there is none. */
export function findCircle(drawing: Drawing): string[] | null {
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (folder: string): string[] | null => {
    const at = way.indexOf(folder);
    if (at >= 0) return [...way.slice(at), folder];
    if (done.has(folder)) return null;
    way.push(folder);
    for (const target of drawing.get(folder)?.keys() ?? []) {
      const circle = visit(target);
      if (circle !== null) return circle;
    }
    way.pop();
    done.add(folder);
    return null;
  };
  for (const folder of drawing.keys()) {
    const circle = visit(folder);
    if (circle !== null) return circle;
  }
  return null;
}

/** Returns the doors that no other folder imports. */
export function unusedDoors(arrows: readonly Arrow[]): string[] {
  const used = new Set<string>();
  for (const { from, to } of arrows) {
    const place = placeOf(to);
    if (nameOf(placeOf(from)) !== nameOf(place)) used.add(`${nameOf(place)}/${place.file}`);
  }
  const doors = Object.entries(FOLDERS).flatMap(([room, folders]) =>
    folders.flatMap(({ name, doors = [] }) => doors.map((door) => `${room}/${name}/${door}`))
  );
  return doors.filter((door) => !used.has(door));
}

/** Returns everything that is wrong with the imports. */
export function problems(arrows: readonly Arrow[]): string[] {
  const found = arrows.flatMap(({ from, to }) => {
    const problem = arrowProblem(from, to);
    return problem === undefined ? [] : [`${from}: ${problem}`];
  });
  const circle = findCircle(draw(arrows));
  if (circle !== null) found.push(`a circle of folders: ${circle.join(" -> ")}`);
  for (const door of unusedDoors(arrows)) found.push(`no other folder uses the door ${door}`);
  return found;
}

interface ModuleGraph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier?: string };
      readonly type?: { readonly specifier?: string };
    }[];
  }[];
}

/** Asks Deno for all imports between files of src/ and core-wasm/. */
async function readArrows(): Promise<Arrow[]> {
  const arrows = new Map<string, Arrow>();
  const names = readdirSync(`${ROOT}/src`, { recursive: true, encoding: "utf8" });
  // The graph of one file is small; that of several needs a file that imports them.
  const entry = names.filter((name) => name.endsWith(".ts"))
    .map((name) => `import "${new URL(`src/${name.replaceAll("\\", "/")}`, `file://${ROOT}/`)}";`);
  const source = `data:application/typescript,${encodeURIComponent(entry.join("\n"))}`;
  const { code, output } = await run([...denoCommand(), "info", "--json", source], {
    cwd: ROOT,
    quiet: true,
  });
  if (code !== 0) throw new Error(output);
  const graph = JSON.parse(output.slice(output.indexOf("{"))) as ModuleGraph;
  for (const { specifier, dependencies = [] } of graph.modules) {
    const from = projectPath(specifier);
    if (from === null) continue;
    for (const { code, type } of dependencies) {
      for (const target of [code?.specifier, type?.specifier]) {
        const to = target === undefined ? null : projectPath(target);
        if (to !== null) arrows.set(`${from} ${to}`, { from, to });
      }
    }
  }
  return [...arrows.values()];
}

function projectPath(specifier: string): string | null {
  if (!specifier.startsWith("file:")) return null;
  const path = relative(ROOT, fileURLToPath(specifier)).replaceAll("\\", "/");
  return path.startsWith("src/") ? path : null;
}

if (import.meta.main) {
  const arrows = await readArrows();
  const drawing = [...draw(arrows)].sort(([a], [b]) => a < b ? -1 : 1);
  for (const [folder, targets] of drawing) {
    const all = [...targets].sort((a, b) => b[1] - a[1]).map(([to, count]) => `${to} ${count}`);
    console.log(`${folder} -> ${all.join(", ") || "nothing"}`);
  }
  const found = problems(arrows);
  for (const line of found) console.log(line);
  console.log(`folders: ${arrows.length} imports, ${found.length} problems`);
  process.exit(found.length === 0 ? 0 : 1);
}
