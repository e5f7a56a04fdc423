// The folders within the rooms of the house, in the order in which they may import each other, and the
// doors of each. The lint rules, the gate that draws the imports and their tests read it, so that the
// direction is written once.

/** A folder of a room, or a file beside the folders that stands at a place of its own in the order. */
export interface Folder {
  /** Its name in the room; "." for the files beside the folders that are not named here. */
  readonly name: string;
  /** The files that others may import; all of them where it is left out. */
  readonly doors?: readonly string[];
}

function folder(name: string, ...doors: string[]): Folder {
  return doors.length === 0 ? { name } : { name, doors };
}

/** The folders of each room that has some. A folder may import those before it. */
export const FOLDERS: Readonly<Record<string, readonly Folder[]>> = {
  lib: [folder("."), folder("pattern", "linear_pattern.ts")],
  store: [
    folder("."),
    folder(
      "memory",
      "arena.ts",
      "block.ts",
      "discards.ts",
      "lane.ts",
      "lane_chunk.ts",
      "requeued_heap.ts",
    ),
    folder("memory_store.ts"),
    folder("format"),
    folder("folder"),
    folder("log", "batch_scan.ts", "commit_log.ts"),
    folder("live", "definitions.ts", "holdings.ts", "log_entries.ts"),
    folder("pages", "page_copies.ts", "page_reader.ts", "page_set.ts", "paging.ts"),
    folder("residency", "evictor.ts", "read_ahead.ts", "record_files.ts", "record_reads.ts"),
    folder("recovery", "folder_check.ts", "hand_over.ts", "recovery.ts"),
    folder("upkeep", "keeper.ts"),
    folder("file_store.ts"),
  ],
  broker: [
    folder("."),
    folder("access"),
    folder("arguments"),
    folder(
      "retry",
      "delayed_table.ts",
      "home.ts",
      "listing.ts",
      "name.ts",
      "retries.ts",
      "rules.ts",
      "scan.ts",
      "unsafe_delays.ts",
    ),
    folder(
      "queue",
      "consumer.ts",
      "dead_letter.ts",
      "delivery.ts",
      "dispatch.ts",
      "expiry_sweeps.ts",
      "get_head.ts",
      "header_size.ts",
      "home.ts",
      "put_apart.ts",
      "queue.ts",
      "settle_run.ts",
      "unacked.ts",
    ),
    folder("routing"),
    folder("exchanges", "default.ts", "types.ts"),
    folder("topology", "definitions.ts", "home.ts", "vhost.ts"),
    folder("dead_letters", "dead_letters.ts"),
    folder("publish", "publisher.ts"),
    folder("broker.ts"),
    folder("recovery.ts"),
  ],
  session: [folder("."), folder("handlers", "frame_switch.ts"), folder("engine.ts")],
  management: [folder("."), folder("api"), folder("app.ts")],
  runtime: [folder("."), folder("node"), folder("deno"), folder("bun"), folder("load.ts")],
};

/** Where a file stands: its room, and its folder there or "." beside the folders. */
export interface Place {
  readonly room: string;
  readonly folder: string;
  /** The name of the file, with the folders below its own. */
  readonly file: string;
}

/** Returns the place of a file of src/; `path` is relative to the project. */
export function placeOf(path: string): Place {
  const [, room = "", ...rest] = path.split("/");
  const folders = FOLDERS[room] ?? [];
  const [first = "", ...deeper] = rest;
  if (rest.length > 1) return { room, folder: first, file: deeper.join("/") };
  const standsAlone = folders.some(({ name }) => name === first);
  return { room, folder: standsAlone ? first : ".", file: first };
}

/** Says what is wrong with an import between two folders, or undefined if nothing is. */
export function folderProblem(path: string, target: string): string | undefined {
  if (!path.startsWith("src/") || !target.startsWith("src/")) return undefined;
  const from = placeOf(path);
  const to = placeOf(target);
  if (from.room === to.room && from.folder === to.folder) return undefined;
  const folders = FOLDERS[to.room] ?? [];
  const toIndex = indexIn(folders, to);
  if (from.room === to.room) {
    const fromIndex = indexIn(folders, from);
    if (fromIndex < 0) return `${nameOf(from)} is not in the table of folders`;
    if (toIndex > fromIndex) {
      return `${nameOf(from)} may not import ${nameOf(to)}: against the order of the folders`;
    }
  }
  if (toIndex < 0 && to.folder !== ".") return `${nameOf(to)} is not in the table of folders`;
  const doors = folders[toIndex]?.doors;
  if (doors === undefined || doors.includes(to.file)) return undefined;
  return `${to.file} is inside ${nameOf(to)}, whose doors are ${doors.join(", ")}`;
}

/** Returns the name of a folder as the drawing and the messages write it. */
export function nameOf({ room, folder }: Place): string {
  return folder === "." ? room : `${room}/${folder}`;
}

function indexIn(folders: readonly Folder[], { folder }: Place): number {
  return folders.findIndex(({ name }) => name === folder);
}
