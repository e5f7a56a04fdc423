// The simulated disk keeps what it promises, loses what it may, and fails as told.

import { assert, assertEquals, assertFalse, assertStrictEquals, assertThrows } from "@std/assert";
import { AssertionError } from "../../../src/lib/assert.ts";
import { Prng } from "../../../src/lib/prng.ts";
import { encodeText } from "../../../src/lib/text.ts";
import { DiskError, type FileHandle } from "../../../src/store/file_system.ts";
import { CrashSignal, MemoryDisk } from "../../support/memory_disk.ts";

function put(handle: FileHandle, offset: number, text: string): void {
  const bytes = encodeText(text);
  handle.write(bytes, 0, bytes.length, offset);
}

function textOf(disk: MemoryDisk, path: string): string | undefined {
  const bytes = disk.contentOf(path);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

function codeOf(failing: () => void): string {
  return assertThrows(failing, DiskError).code;
}

function syncAll(disk: MemoryDisk, handle: FileHandle): void {
  let result: DiskError | null | undefined;
  handle.sync((error) => result = error);
  disk.finishAll();
  assertStrictEquals(result, null);
}

/** A disk with one synced file `a` that holds `old`. */
function diskWithFile(): { disk: MemoryDisk; handle: FileHandle } {
  const disk = new MemoryDisk();
  const handle = disk.open("a", "create");
  put(handle, 0, "old");
  syncAll(disk, handle);
  disk.syncFolder("");
  return { disk, handle };
}

Deno.test("MemoryDisk reads back what was written, gaps as zeros", () => {
  const disk = new MemoryDisk();
  const handle = disk.open("a", "create");
  put(handle, 2, "xy");
  assertEquals([...handle.readNow(0, 10)], [0, 0, 120, 121]);
  assertEquals([...handle.readNow(3, 1)], [121]);
  assertEquals([...handle.readNow(9, 1)], []);
  assertEquals(handle.byteLength, 4);
  handle.truncate(3);
  handle.truncate(5);
  assertEquals([...handle.readNow(0, 10)], [0, 0, 120, 0, 0]);
  handle.close();
  assertThrows(() => handle.readNow(0, 1), AssertionError, "a is closed");
  assertEquals(disk.openCount, 0);
});

Deno.test("MemoryDisk.open() and the names fail as a file system does", () => {
  const { disk } = diskWithFile();
  assertEquals(codeOf(() => disk.open("a", "create")), "EEXIST");
  assertEquals(codeOf(() => disk.open("b", "read")), "ENOENT");
  assertEquals(codeOf(() => disk.open("f/b", "create")), "ENOENT");
  assertEquals(codeOf(() => disk.rename("b", "c")), "ENOENT");
  disk.remove("b");
  disk.removeFolder("f");
  disk.makeFolder("f/g");
  disk.makeFolder("f/g");
  disk.open("f/b", "create").close();
  assertEquals(disk.list(""), ["a", "f/"]);
  assertEquals(disk.list("f"), ["b", "g/"]);
  assertEquals(disk.list("nowhere"), []);
  assertEquals(codeOf(() => disk.removeFolder("f")), "ENOTEMPTY");
  assertEquals(codeOf(() => disk.open("f", "read")), "EISDIR");
  disk.removeFolder("f/g");
  disk.rename("f/b", "a");
  assertEquals(disk.paths(), ["a"]);
  assertEquals(textOf(disk, "a"), "");
  for (const path of ["", "/a", "../a", "f/../a", "a/", "f\\a"]) {
    assertThrows(() => disk.open(path, "read"), AssertionError, "not a path");
  }
});

Deno.test("MemoryDisk writes nothing to a file open for reading", () => {
  const { disk } = diskWithFile();
  const reader = disk.open("a", "read");
  assertThrows(() => put(reader, 0, "x"), AssertionError, "for reading only");
});

Deno.test("MemoryDisk.finish() ends syncs and reads in order, each in a later turn", () => {
  const { disk, handle } = diskWithFile();
  const log: string[] = [];
  handle.sync(() => log.push("sync"));
  handle.read(0, 3, ({ bytes }) => {
    log.push(`read ${bytes?.length}`);
    handle.sync(() => log.push("inner"));
  });
  handle.close();
  assertEquals(log, []);
  assertEquals(disk.pendingCount, 2);
  assertEquals(disk.finish(), 1);
  assertEquals(log, ["sync"]);
  assertThrows(() => disk.finishAll(), AssertionError, "a is closed");
  assertEquals(log, ["sync", "read 3"]);
});

Deno.test("MemoryDisk.finishAt() lets a later operation overtake", () => {
  const { disk, handle } = diskWithFile();
  const log: number[] = [];
  for (const i of [0, 1, 2]) handle.sync(() => log.push(i));
  assert(disk.finishAt(2));
  assertFalse(disk.finishAt(2));
  assertEquals(disk.finishAll(), 2);
  assertEquals(log, [2, 0, 1]);
});

Deno.test("MemoryDisk.crash() of a process keeps everything written and no handle", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 3, "new");
  handle.sync(() => {
    throw new Error("completed after death");
  });
  const next = disk.crash({ kind: "process" });
  assertEquals(textOf(next, "a"), "oldnew");
  assert(disk.crashed);
  assertThrows(() => put(handle, 0, "x"), CrashSignal);
  assertThrows(() => handle.close(), CrashSignal);
  assertThrows(() => disk.list(""), CrashSignal);
  assertEquals(disk.finishAll(), 0);
  assertEquals(next.openCount, 0);
});

Deno.test("MemoryDisk.crash() of power after the death of a process still loses the unsynced", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 0, "new");
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 40; seed++) {
    const next = disk.crash({ kind: "process" }).crash({ kind: "power", prng: new Prng(seed) });
    seen.add(textOf(next, "a"));
  }
  assert(seen.has("old") && seen.has("new"));
});

Deno.test("MemoryDisk.crash() of power loses, keeps or tears what a sync had not ended for", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 3, "new");
  handle.sync(() => {});
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 200; seed++) {
    seen.add(textOf(disk.crash({ kind: "power", prng: new Prng(seed) }), "a"));
  }
  const expected = ["old", "oldn", "oldn\0\0", "oldne", "oldne\0", "oldnew", "old\0\0\0"];
  assertEquals([...seen].sort(), expected.sort());
});

Deno.test("MemoryDisk.crash() of power tears long writes at sectors", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 0, "n".repeat(1536));
  const seen = new Set<string>();
  for (let seed = 0; seed < 2000; seed++) {
    const text = textOf(disk.crash({ kind: "power", prng: new Prng(seed) }), "a")!;
    if (text.length === 1536) seen.add([text[0], text[600], text[1200]].join(""));
  }
  // "o" is the old first sector; what was behind the end reads as zeros.
  assertEquals(seen.size, 8);
  assert(seen.has("o\0n") && seen.has("nn\0"));
});

Deno.test("MemoryDisk.crash() of power forgets names until their folder is synced", () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const { disk } = diskWithFile();
    disk.open("b", "create").close();
    disk.rename("a", "c");
    seen.add(disk.crash({ kind: "power", prng: new Prng(seed) }).paths().join());
  }
  assertEquals([...seen].sort(), ["a", "a,b", "b,c", "c"]);
  const { disk } = diskWithFile();
  disk.makeFolder("f");
  disk.open("f/b", "create").close();
  disk.rename("a", "c");
  disk.syncFolder("");
  const synced = disk.crash({ kind: "power", prng: new Prng(1) });
  assertEquals(synced.list("")[0], "c");
  assertEquals(synced.list(""), ["c", "f/"]);
});

Deno.test("MemoryDisk.crash() of power loses what lies in a folder that is lost", () => {
  for (let seed = 0; seed < 100; seed++) {
    const disk = new MemoryDisk();
    disk.makeFolder("f/g");
    disk.open("f/g/a", "create").close();
    disk.syncFolder("f/g");
    const next = disk.crash({ kind: "power", prng: new Prng(seed) });
    const whole = next.list("").length > 0 && next.list("f").length > 0;
    assertEquals(next.paths(), whole ? ["f/g/a"] : []);
  }
});

Deno.test("MemoryDisk keeps a removed file readable while it is open, and its space taken", () => {
  const { disk, handle } = diskWithFile();
  disk.quotaBytes = 10;
  disk.remove("a");
  assertEquals(disk.freeBytes(), 7);
  assertEquals(handle.readNow(0, 3).length, 3);
  handle.close();
  assertEquals(disk.freeBytes(), 10);
});

Deno.test("MemoryDisk gives room in blocks", () => {
  const disk = new MemoryDisk({ blockBytes: 8 });
  disk.quotaBytes = 23;
  const a = disk.open("a", "create");
  assertEquals(disk.usedBytes, 0);
  put(a, 0, "x");
  assertEquals([disk.usedBytes, disk.freeBytes()], [8, 15]);
  put(a, 1, "1234567");
  const b = disk.open("b", "create");
  put(b, 0, "x");
  assertEquals(disk.freeBytes(), 7);
  assertEquals(codeOf(() => put(a, 8, "x")), "ENOSPC");
  assertEquals(codeOf(() => put(b, 1, "12345678")), "ENOSPC");
  assertEquals([a.byteLength, b.byteLength], [8, 8]);
  b.truncate(1);
  assertEquals(disk.usedBytes, 16);
  a.truncate(0);
  assertEquals(disk.usedBytes, 8);
  a.close();
  b.close();
  disk.remove("b");
  assertEquals(disk.usedBytes, 0);
  assertEquals(disk.crash({ kind: "process" }).blockBytes, 8);
});

Deno.test("MemoryDisk cuts a write beyond the quota short and fails it with ENOSPC", () => {
  const { disk, handle } = diskWithFile();
  disk.quotaBytes = 5;
  assertEquals(codeOf(() => put(handle, 3, "newer")), "ENOSPC");
  assertEquals(textOf(disk, "a"), "oldne");
  assertEquals(disk.freeBytes(), 0);
  put(handle, 0, "OLD");
  handle.truncate(0);
  assertEquals(disk.freeBytes(), 5);
});

Deno.test("MemoryDisk.handlesMax refuses one handle more", () => {
  const { disk, handle } = diskWithFile();
  disk.handlesMax = 1;
  assertEquals(codeOf(() => disk.open("a", "read")), "EMFILE");
  handle.close();
  disk.open("a", "read").close();
});

Deno.test("MemoryDisk.failNext() fails one operation of its kind and folder", () => {
  const { disk, handle } = diskWithFile();
  disk.failNext("write", "EIO");
  disk.failNext("open", "EACCES", "f/");
  assertEquals(codeOf(() => put(handle, 0, "newest")), "EIO");
  assertEquals(textOf(disk, "a"), "new");
  put(handle, 0, "newest");
  disk.open("a", "read").close();
  disk.makeFolder("f");
  assertEquals(codeOf(() => disk.open("f/b", "create")), "EACCES");
  disk.failNext("read", "EIO");
  const codes: (string | undefined)[] = [];
  handle.read(0, 1, ({ error }) => codes.push(error?.code));
  disk.finishAll();
  assertEquals(codes, ["EIO"]);
});

Deno.test("MemoryDisk.failAfter() fails the operations after a number of good ones", () => {
  const { disk, handle } = diskWithFile();
  disk.failAfter(1, "EIO", 2);
  put(handle, 0, "one");
  assertEquals(codeOf(() => put(handle, 0, "two")), "EIO");
  assertEquals(codeOf(() => disk.list("")), "EIO");
  disk.list("");
  disk.failAfter(0, "EIO", Infinity);
  for (let i = 0; i < 5; i++) assertEquals(codeOf(() => disk.syncFolder("")), "EIO");
  disk.clearFaults();
  disk.syncFolder("");
});

Deno.test("MemoryDisk covers by a sync what was written before it began, not before it ended", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 0, "new");
  handle.sync(() => {});
  put(handle, 3, "er");
  disk.finishAll();
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 60; seed++) {
    seen.add(textOf(disk.crash({ kind: "power", prng: new Prng(seed) }), "a"));
  }
  assert(seen.has("new") && seen.has("newer"));
  assert([...seen].every((text) => text?.startsWith("new")));
});

Deno.test("MemoryDisk never makes durable what a failed sync covered", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 0, "new");
  disk.failNext("sync", "EIO");
  const errors: (string | undefined)[] = [];
  handle.sync((error) => errors.push(error?.code));
  put(handle, 3, "er");
  handle.sync((error) => errors.push(error?.code));
  disk.finishAll();
  assertEquals(errors, ["EIO", undefined]);
  assertEquals(textOf(disk, "a"), "newer");
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 60; seed++) {
    seen.add(textOf(disk.crash({ kind: "power", prng: new Prng(seed) }), "a"));
  }
  assert(seen.has("older") && seen.has("newer"));
  assert([...seen].every((text) => text?.endsWith("er")));
});

Deno.test("FileHandle.syncNow() of a MemoryDisk is a sync that has ended", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 0, "new");
  disk.failNext("sync", "EIO");
  assertEquals(codeOf(() => handle.syncNow()), "EIO");
  put(handle, 3, "er");
  handle.syncNow();
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 60; seed++) {
    seen.add(textOf(disk.crash({ kind: "power", prng: new Prng(seed) }), "a"));
  }
  assert(seen.has("older") && seen.has("newer"));
  assert([...seen].every((text) => text?.endsWith("er")));
});

Deno.test("MemoryDisk.crashAfter() dies in the operation after a number of good ones", () => {
  const { disk, handle } = diskWithFile();
  disk.crashAfter(1);
  put(handle, 0, "one");
  assertThrows(() => put(handle, 0, "two"), CrashSignal, "crashed at write a");
  assertThrows(() => disk.list(""), CrashSignal);
  assertEquals(textOf(disk.crash({ kind: "process" }), "a"), "one");
});

Deno.test("MemoryDisk.crashAfter() with a prng does the last operation in part, or not", () => {
  const writes = new Set<string | undefined>();
  const renames = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const { disk, handle } = diskWithFile();
    disk.crashAfter(0, new Prng(seed));
    assertThrows(() => put(handle, 0, "new"), CrashSignal);
    writes.add(textOf(disk.crash({ kind: "process" }), "a"));
    const other = diskWithFile().disk;
    other.crashAfter(0, new Prng(seed));
    assertThrows(() => other.rename("a", "b"), CrashSignal);
    renames.add(other.crash({ kind: "process" }).paths().join());
  }
  assertEquals([...writes].sort(), ["new", "ned", "nld", "old"].sort());
  assertEquals([...renames].sort(), ["a", "b"]);
});

Deno.test("MemoryDisk.onOperation sees every operation before it happens and can end it", () => {
  const { disk, handle } = diskWithFile();
  const before = disk.operationCount;
  const seen: string[] = [];
  disk.onOperation = ({ kind, path, index }) => {
    seen.push(`${index - before} ${kind} ${path}`);
    if (kind === "remove") throw new CrashSignal("the hook");
  };
  put(handle, 0, "new");
  handle.sync(() => {});
  disk.syncFolder("");
  assertThrows(() => disk.remove("a"), CrashSignal, "the hook");
  assertEquals(seen, ["0 write a", "1 sync a", "2 syncFolder ", "3 remove a"]);
  assertThrows(() => disk.list(""), CrashSignal);
});

Deno.test("MemoryDisk.flip() turns a bit for good, synced or not", () => {
  const { disk, handle } = diskWithFile();
  put(handle, 3, "new");
  disk.flip("a", 0, 1);
  assertEquals(textOf(disk, "a"), "mldnew");
  for (let seed = 0; seed < 20; seed++) {
    const text = textOf(disk.crash({ kind: "power", prng: new Prng(seed) }), "a");
    assert(text?.startsWith("mld"));
  }
});
