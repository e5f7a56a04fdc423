// The guarantees of the simulated disk, against a naive model: what was synced is there after any
// crash, what was never written never appears, and without crashes it is a real disk.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { Prng } from "../../../src/lib/prng.ts";
import { FolderFileSystem } from "../../../src/runtime/file_system.ts";
import { DiskError, type FileHandle, type FileSystem } from "../../../src/store/file_system.ts";
import { CrashSignal, MemoryDisk } from "../../support/memory_disk.ts";

const FILE_BYTES_MAX = 1600;

type ContentStep =
  | { kind: "write"; offset: number; length: number }
  | { kind: "truncate"; length: number }
  | { kind: "sync"; fails: boolean }
  | { kind: "finish"; count: number }
  | { kind: "reboot" };

const offsets = fc.nat(FILE_BYTES_MAX / 2);
const contentSteps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("write"), offset: offsets, length: offsets }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("truncate"), length: offsets }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("sync"),
        fails: fc.nat(2).map((n) => n === 0),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("finish"), count: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("reboot") }) },
  ) as fc.Arbitrary<ContentStep>,
  { minLength: 10, maxLength: 40 },
);

/** What is known of one byte of a file. */
interface ByteModel {
  /** Its value as written; undefined behind the end. */
  now: number | undefined;
  /** The change that made it so; Infinity when a failed sync covered that. */
  changedBy: number;
  /** Whether a sync of that change has ended. */
  safe: boolean;
  /** Every value it ever had. */
  values: Set<number>;
}

/** The file `a` of a disk, and what must be true of it. */
class ModelledFile {
  disk = new MemoryDisk();
  handle: FileHandle;
  readonly bytes: ByteModel[];
  #changes = 0;

  constructor() {
    this.handle = this.disk.open("a", "create");
    this.disk.syncFolder("");
    this.bytes = Array.from({ length: FILE_BYTES_MAX + 1 }, () => ({
      now: undefined,
      changedBy: 0,
      safe: true,
      values: new Set([0]),
    }));
  }

  run(step: ContentStep): void {
    switch (step.kind) {
      case "write":
        return this.#write(step.offset, step.length);
      case "truncate":
        this.handle.truncate(step.length);
        return this.#resize(step.length);
      case "sync":
        return this.#sync(step.fails);
      case "finish":
        return void this.disk.finish(step.count);
      case "reboot":
        this.disk = this.disk.crash({ kind: "process" });
        this.handle = this.disk.open("a", "readwrite");
    }
  }

  #write(offset: number, length: number): void {
    const value = 1 + this.#changes % 255;
    this.handle.write(new Uint8Array(length).fill(value), 0, length, offset);
    const change = ++this.#changes;
    if (length === 0) return;
    const byteLength = this.bytes.findIndex(({ now }) => now === undefined);
    for (let at = byteLength; at < offset; at++) this.#set(at, 0, change);
    for (let at = offset; at < offset + length; at++) this.#set(at, value, change);
  }

  #resize(length: number): void {
    const change = ++this.#changes;
    for (let at = 0; at < this.bytes.length; at++) {
      if (at >= length) this.#set(at, undefined, change);
      else if (this.bytes[at]!.now === undefined) this.#set(at, 0, change);
    }
  }

  #set(at: number, value: number | undefined, change: number): void {
    const byte = this.bytes[at]!;
    byte.now = value;
    byte.changedBy = change;
    byte.safe = false;
    if (value !== undefined) byte.values.add(value);
  }

  #sync(fails: boolean): void {
    const covered = this.#changes;
    if (fails) this.disk.failNext("sync", "EIO");
    this.handle.sync((error) => {
      assertEquals(error?.code, fails ? "EIO" : undefined);
      for (const byte of this.bytes) {
        if (byte.safe || byte.changedBy > covered) continue;
        if (fails) byte.changedBy = Infinity;
        else byte.safe = true;
      }
    });
  }
}

function assertPossible(file: ModelledFile, survivor: Uint8Array): void {
  file.bytes.forEach(({ now, safe, values }, at) => {
    const found = survivor[at];
    if (found !== undefined) assert(values.has(found), `byte ${at} was never ${found}`);
    if (safe && now !== undefined) assertEquals(found, now, `synced byte ${at}`);
  });
  assert(survivor.length <= FILE_BYTES_MAX);
}

Deno.test("MemoryDisk.crash() keeps what was synced and makes nothing up, whatever was done", () => {
  fc.assert(
    fc.property(contentSteps, fc.nat(), (steps, seed) => {
      const file = new ModelledFile();
      for (const step of steps) file.run(step);
      const { disk } = file;
      const now = file.bytes.map(({ now }) => now).filter((value) => value !== undefined);
      assertEquals([...disk.contentOf("a")!], now);
      for (let i = 0; i < 4; i++) {
        const next = disk.crash({ kind: "power", prng: new Prng(seed + i) });
        assertPossible(file, next.contentOf("a")!);
      }
      assertEquals([...disk.crash({ kind: "process" }).contentOf("a")!], now);
    }),
    { numRuns: 150 },
  );
});

const PATHS = ["a", "b", "f/a", "f/b", "f/g/a"];
const FOLDERS = ["f", "f/g"];
const paths = fc.constantFrom(...PATHS);
const folders = fc.constantFrom(...FOLDERS);

type NameStep =
  | { kind: "create" | "remove" | "read"; path: string }
  | { kind: "rename"; path: string; to: string }
  | { kind: "makeFolder" | "removeFolder" | "list" | "syncFolder"; path: string }
  | { kind: "write"; path: string; offset: number; length: number }
  | { kind: "truncate"; path: string; length: number };

const nameSteps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom("create", "remove", "read"), path: paths }),
    fc.record({ kind: fc.constant("rename"), path: paths, to: paths }),
    fc.record({ kind: fc.constantFrom("makeFolder", "removeFolder"), path: folders }),
    fc.record({
      kind: fc.constantFrom("list", "syncFolder"),
      path: fc.constantFrom("", ...FOLDERS),
    }),
    fc.record({ kind: fc.constant("write"), path: paths, offset: fc.nat(9), length: fc.nat(9) }),
    fc.record({ kind: fc.constant("truncate"), path: paths, length: fc.nat(9) }),
  ) as fc.Arbitrary<NameStep>,
  { minLength: 5, maxLength: 40 },
);

/** Does one step and says what it gave: a result, or the code it failed with. */
function result(disk: FileSystem, step: NameStep, value: number): unknown {
  try {
    return perform(disk, step, value);
  } catch (error) {
    if (error instanceof DiskError) return error.code;
    throw error;
  }
}

function perform(disk: FileSystem, step: NameStep, value: number): unknown {
  switch (step.kind) {
    case "create":
      return disk.open(step.path, "create").close();
    case "rename":
      return disk.rename(step.path, step.to);
    case "list":
      return disk.list(step.path);
    case "remove":
    case "makeFolder":
    case "removeFolder":
    case "syncFolder":
      return disk[step.kind](step.path);
  }
  const handle = disk.open(step.path, step.kind === "read" ? "read" : "readwrite");
  try {
    if (step.kind === "read") return [...handle.readNow(0, 100)];
    if (step.kind === "truncate") handle.truncate(step.length);
    if (step.kind === "write") {
      handle.write(new Uint8Array(9).fill(value), 0, step.length, step.offset);
    }
    return handle.byteLength;
  } finally {
    handle.close();
  }
}

Deno.test("MemoryDisk does what a FolderFileSystem does", () => {
  const folder = mkdtempSync(`${tmpdir()}/reprise-twin-`);
  let round = 0;
  try {
    fc.assert(
      fc.property(nameSteps, (steps) => {
        const real = new FolderFileSystem(`${folder}/${round++}`);
        const memory = new MemoryDisk();
        steps.forEach((step, i) => {
          const label = `step ${i}: ${JSON.stringify(step)}`;
          assertEquals(result(memory, step, i), result(real, step, i), label);
        });
        assertEquals(memory.openCount, 0);
        for (const path of PATHS) {
          const read: NameStep = { kind: "read", path };
          assertEquals(result(memory, read, 0), result(real, read, 0), path);
        }
      }),
      { numRuns: 60 },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The paths a step may give another meaning. */
function touched(step: NameStep): string[] {
  if (step.kind === "rename") return [step.path, step.to];
  const changesNames = ["create", "remove", "makeFolder", "removeFolder"].includes(step.kind);
  return changesNames ? [step.path] : [];
}

function isFile(disk: FileSystem, path: string): boolean {
  return result(disk, { kind: "read", path }, 0) !== "ENOENT";
}

Deno.test("MemoryDisk.crash() keeps names that were synced and makes none up", () => {
  fc.assert(
    fc.property(nameSteps, nameSteps, fc.nat(), (before, after, seed) => {
      const disk = new MemoryDisk();
      before.forEach((step, i) => result(disk, step, i));
      for (const folder of ["", ...FOLDERS]) {
        result(disk, { kind: "syncFolder", path: folder }, 0);
      }
      const synced = PATHS.filter((path) => isFile(disk, path));
      const unsynced = after.filter(({ kind }) => kind !== "syncFolder");
      const known = new Set(synced);
      unsynced.forEach((step, i) => {
        result(disk, step, i);
        for (const path of disk.paths()) known.add(path);
      });
      const open = new Set(unsynced.flatMap(touched));
      for (let i = 0; i < 4; i++) {
        const next = disk.crash({ kind: "power", prng: new Prng(seed + i) });
        for (const path of next.paths()) assert(known.has(path), `${path} never was`);
        for (const path of PATHS) {
          const isOpen = [...open].some((name) => path === name || path.startsWith(`${name}/`));
          if (!isOpen) assertEquals(isFile(next, path), synced.includes(path), path);
        }
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("MemoryDisk.crashAfter() at every operation leaves the next boot a disk that works", () => {
  fc.assert(
    fc.property(nameSteps, fc.nat(), (steps, seed) => {
      for (let passes = 0;; passes++) {
        const disk = new MemoryDisk();
        disk.crashAfter(passes, new Prng(seed + passes));
        try {
          steps.forEach((step, i) => result(disk, step, i));
          return;
        } catch (error) {
          assert(error instanceof CrashSignal && disk.crashed);
        }
        const next = disk.crash({ kind: "power", prng: new Prng(seed) });
        for (const path of next.paths()) next.open(path, "read").close();
        assertEquals(
          next.usedBytes,
          next.paths().reduce((sum, p) => sum + next.contentOf(p)!.length, 0),
        );
        steps.forEach((step, i) => result(next, step, i));
      }
    }),
    { numRuns: 30 },
  );
});
