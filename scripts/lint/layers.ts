// The rooms of the house and which may import which: the one place where ARCHITECTURE.md's direction
// of dependencies is written for a program. The folders within a room are in folders.ts. The lint rules
// and their tests read it; it knows only paths and specifiers, never syntax.

import { folderProblem } from "./folders.ts";

/** What the files of one room may use. */
export interface Room {
  /** Rooms it may import besides itself. */
  readonly imports: readonly string[];
  /** The only files it may import of a room, where it may not import all that have a door. */
  readonly only?: Readonly<Record<string, readonly string[]>>;
  /** Packages it may import, as patterns of the whole specifier. */
  readonly packages: readonly RegExp[];
  /** Pure rooms are given time, randomness and output: they reach for nothing themselves. */
  readonly pure: boolean;
}

const NODE = /^node:/;
const HONO = /^hono(\/|$)/;
const HONO_NODE = /^@hono\/node-server(\/|$)/;

function pure(...imports: string[]): Room {
  return { imports, packages: [], pure: true };
}

function shell(imports: string[], ...packages: RegExp[]): Room {
  return { imports, packages, pure: false };
}

const EVERYTHING = [
  "lib",
  "amqp",
  "schedule",
  "store",
  "broker",
  "session",
  "management",
  "runtime",
  "config",
  "config.ts",
  "version.ts",
];

/** Every room; a folder or a file directly under src/ that is missing here is itself a violation. */
export const ROOMS: Readonly<Record<string, Room>> = {
  "core-wasm": pure(),
  lib: pure(),
  amqp: pure("lib"),
  schedule: pure("lib", "core-wasm"),
  store: pure("lib", "amqp"),
  broker: {
    ...pure("lib", "amqp", "schedule", "store", "core-wasm"),
    // The port, and two parts of it that are made of code. Which store is behind it is not known.
    only: {
      store: ["port.ts", "page.ts", "views.ts", "memory/arena.ts", "memory/requeued_heap.ts"],
    },
  },
  session: pure("lib", "amqp", "broker", "version.ts"),
  // amqp/ only to show field tables and properties; everything it does goes through broker/.
  management: shell(["lib", "amqp", "broker", "version.ts"], HONO),
  // Implements the ports that the pure rooms declare.
  runtime: shell(["lib", "schedule", "store", "session"], NODE, HONO, HONO_NODE),
  "version.ts": pure(),
  config: shell(["lib", "broker", "version.ts"]),
  "config.ts": shell(["lib", "broker", "config", "version.ts"]),
  // The two that open a data folder: to run on it, and to look at it.
  "storage.ts": shell(["lib", "broker", "store", "management", "runtime"]),
  "check.ts": shell(["lib", "broker", "store", "runtime", "storage.ts"]),
  "server.ts": shell([...EVERYTHING, "storage.ts"]),
  "mod.ts": shell([...EVERYTHING, "server.ts", "storage.ts"]),
  "main.ts": shell([...EVERYTHING, "server.ts", "storage.ts", "check.ts"]),
};

/** The room a project path belongs to, or undefined outside of src/ and core-wasm/. */
function roomOf(path: string): string | undefined {
  const [top, second] = path.split("/");
  if (top === "core-wasm") return top;
  return top === "src" ? second : undefined;
}

/** Says whether the file may not reach for time, randomness, timers, output or the runtime. */
export function isPure(path: string): boolean {
  const room = roomOf(path);
  return room !== undefined && (ROOMS[room]?.pure ?? true);
}

/** Says whether the file may use the store only by asking the broker, through whatever members. */
export function asksTheBroker(path: string): boolean {
  const room = roomOf(path);
  return room === "session" || room === "management";
}

/**
 * Says what is wrong with one import, or undefined if nothing is.
 *
 * `path` is the importing file relative to the project, `specifier` what stands between the quotes.
 */
export function importProblem(path: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return arrowProblem(path, resolve(path, specifier));
  const from = roomOf(path);
  if (from === undefined) return undefined;
  const room = ROOMS[from];
  if (room === undefined) return notListed(from);
  if (room.packages.some((allowed) => allowed.test(specifier))) return undefined;
  return `${from} may not import the package "${specifier}"`;
}

/** Says what is wrong with an import of the file `target`, or undefined if nothing is. */
export function arrowProblem(path: string, target: string): string | undefined {
  const from = roomOf(path);
  if (from === undefined) return undefined;
  const room = ROOMS[from];
  if (room === undefined) return notListed(from);
  const to = roomOf(target);
  if (to === undefined) return `${from} may not import ${target}: outside of src/`;
  if (to === from || room.imports.includes(to)) {
    const only = room.only?.[to];
    const file = target.split("/").slice(2).join("/");
    if (only === undefined || only.includes(file)) return folderProblem(path, target);
    return `${from} may not import ${file} of ${to}: only ${only.join(", ")}`;
  }
  return `${from} may not import ${to}: against the direction of the layers`;
}

function notListed(room: string): string {
  return `src/${room} is not in the table of rooms (scripts/lint/layers.ts)`;
}

/** Resolves a relative specifier against the importing file; both with forward slashes. */
function resolve(path: string, specifier: string): string {
  const parts = path.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** Brings the file name a lint rule is given into a path relative to the project. */
export function projectPath(filename: string): string {
  const path = filename.replaceAll("\\", "/");
  return path.startsWith(ROOT) ? path.slice(ROOT.length) : path;
}
