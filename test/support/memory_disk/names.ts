// The names of a simulated disk: which file every path leads to now, and which after a power loss.
// MemoryDisk calls it. Changes of a folder are lost or kept one by one until the folder is synced.

import type { Prng } from "../../../src/lib/prng.ts";
import type { FileContent } from "./content.ts";

/** What a path leads to: a file, or a folder (null). */
type Node = FileContent | null;

/** A change of names: each path in `set` now leads there, each in `unset` to nothing. */
export interface NameChange {
  readonly folders: readonly string[];
  readonly unset: string | undefined;
  readonly set: string | undefined;
  readonly node: Node;
}

/** The folder a path lies in; the data folder itself is the empty text. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function applyChange(nodes: Map<string, Node>, change: NameChange): void {
  if (change.unset !== undefined) nodes.delete(change.unset);
  if (change.set !== undefined) nodes.set(change.set, change.node);
}

/** Drops what lies in folders that are not there. */
function dropOrphans(nodes: Map<string, Node>): void {
  // Parents come first, so that what an orphaned folder holds goes with it.
  for (const path of [...nodes.keys()].sort()) {
    const folder = folderOf(path);
    if (folder !== "" && nodes.get(folder) !== null) nodes.delete(path);
  }
}

/** The names of one disk. */
export class Names {
  readonly #nodes: Map<string, Node>;
  readonly #durable: Map<string, Node>;
  #changes: NameChange[];

  /** Creates a disk without names. */
  constructor();
  constructor(nodes: Map<string, Node>, durable: Map<string, Node>, changes: NameChange[]);
  constructor(nodes = new Map(), durable = new Map(), changes: NameChange[] = []) {
    this.#nodes = nodes;
    this.#durable = durable;
    this.#changes = changes;
  }

  /** The file at `path`, null for a folder, undefined for nothing. */
  get(path: string): Node | undefined {
    return path === "" ? null : this.#nodes.get(path);
  }

  /** Whether `path` leads to this file. */
  leadsTo(path: string, content: FileContent): boolean {
    return this.#nodes.get(path) === content;
  }

  /** All paths of files, sorted. */
  filePaths(): string[] {
    return [...this.#nodes].filter(([, node]) => node !== null).map(([path]) => path).sort();
  }

  /** Names in a folder, folders with a trailing `/`, sorted. */
  list(folder: string): string[] {
    const names: string[] = [];
    for (const [path, node] of this.#nodes) {
      if (folderOf(path) !== folder) continue;
      const name = folder === "" ? path : path.slice(folder.length + 1);
      names.push(node === null ? `${name}/` : name);
    }
    return names.sort();
  }

  /** Names a file, or a folder (null). */
  set(path: string, node: Node): void {
    this.#change({ folders: [folderOf(path)], unset: undefined, set: path, node });
  }

  /** Takes a name away. */
  unset(path: string): void {
    this.#change({ folders: [folderOf(path)], unset: path, set: undefined, node: null });
  }

  /** Moves a file to another name. */
  move(from: string, to: string): void {
    const node = this.#nodes.get(from)!;
    this.#change({ folders: [folderOf(from), folderOf(to)], unset: from, set: to, node });
  }

  /** The changes that a sync begun now covers. */
  beginSync(): ReadonlySet<NameChange> {
    return new Set(this.#changes);
  }

  /** Makes the changes of `folder` survive a power loss, and those they build on. */
  sync(folder: string, covered: ReadonlySet<NameChange> = this.beginSync()): void {
    const folders = new Set([folder]);
    const gone = new Set<string>();
    const kept: NameChange[] = [];
    const synced: NameChange[] = [];
    // A rename between folders brings along what came before it in both.
    for (const change of this.#changes.toReversed()) {
      const isCovered = covered.has(change) && change.folders.some((each) => folders.has(each));
      // What was done in a folder before it went for good cannot come back in another of its name.
      if (!isCovered && change.folders.some((each) => gone.has(each))) continue;
      if (isCovered && change.unset !== undefined) gone.add(change.unset);
      (isCovered ? synced : kept).push(change);
      if (isCovered) { for (const each of change.folders) folders.add(each); }
    }
    for (const change of synced.reverse()) applyChange(this.#durable, change);
    this.#changes = kept.reverse();
  }

  /** The names after the death of the process; `copy` gives the next boot's file for each file. */
  afterProcessDeath(copy: (content: FileContent) => FileContent): Names {
    const node = (old: Node): Node => old === null ? null : copy(old);
    const entries = (nodes: Map<string, Node>) =>
      new Map([...nodes].map(([path, old]): [string, Node] => [path, node(old)]));
    const changes = this.#changes.map((change) => ({ ...change, node: node(change.node) }));
    return new Names(entries(this.#nodes), entries(this.#durable), changes);
  }

  /** The names after a power loss, one of the many sets they may be. */
  afterPowerLoss(prng: Prng, copy: (content: FileContent) => FileContent): Names {
    const nodes = new Map(this.#durable);
    const mood = prng.nextBelow(4);
    for (const change of this.#changes) {
      if (mood === 0 || (mood > 1 && prng.nextBelow(2) === 0)) applyChange(nodes, change);
    }
    dropOrphans(nodes);
    const sorted = [...nodes].sort(([a], [b]) => a < b ? -1 : 1);
    const kept = sorted.map(([path, node]): [string, Node] => [path, node && copy(node)]);
    return new Names(new Map(kept), new Map(kept), []);
  }

  #change(change: NameChange): void {
    applyChange(this.#nodes, change);
    this.#changes.push(change);
  }
}
