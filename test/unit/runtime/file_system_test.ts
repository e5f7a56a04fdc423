// The real disk: what is written is there, errors keep the system's names, nothing leaves the folder.

import { assert, assertEquals, assertGreater, assertThrows } from "@std/assert";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { AssertionError } from "../../../src/lib/assert.ts";
import { FolderFileSystem } from "../../../src/runtime/file_system.ts";
import { DiskError, type FileHandle, type ReadResult } from "../../../src/store/file_system.ts";

const BYTES = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);

/** Runs a test on an empty data folder and removes it. */
async function onFolder(
  run: (disk: FolderFileSystem, folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(`${tmpdir()}/reprise-disk-`);
  try {
    await run(new FolderFileSystem(folder), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function codeOf(failing: () => void): string {
  return assertThrows(failing, DiskError).code;
}

function synced(handle: FileHandle): Promise<DiskError | null> {
  return new Promise((resolve) => handle.sync(resolve));
}

// What a read gives is lent, so a copy of it is what can be looked at later.
function read(handle: FileHandle, offset: number, length: number): Promise<ReadResult> {
  return new Promise((resolve) => {
    handle.read(offset, length, (result) => {
      resolve(result.bytes === null ? result : { bytes: result.bytes.slice(), error: null });
    });
  });
}

Deno.test("FolderFileSystem writes at offsets and reads back, now and later", () =>
  onFolder(async (disk, folder) => {
    const handle = disk.open("a", "create");
    handle.write(BYTES, 2, 5, 0);
    handle.write(BYTES, 0, 2, 5);
    assertEquals(handle.byteLength, 7);
    assertEquals([...readFileSync(`${folder}/a`)], [3, 4, 5, 0, 0, 1, 2]);
    assertEquals([...handle.readNow(1, 3)], [4, 5, 0]);
    assertEquals([...handle.readNow(5, 1e15)], [1, 2]);
    assertEquals([...handle.readNow(9, 1)], []);
    assertEquals(await read(handle, 4, 10), { bytes: new Uint8Array([0, 1, 2]), error: null });
    assertEquals(await read(handle, 9, 10), { bytes: new Uint8Array(0), error: null });
    assertEquals(await read(handle, 1, 2), { bytes: new Uint8Array([4, 5]), error: null });
    assertEquals(await synced(handle), null);
    handle.syncNow();
    handle.close();
  }));

Deno.test("FileHandle.read() lends its bytes and takes them back", () =>
  onFolder(async (disk) => {
    const handle = disk.open("a", "create");
    handle.write(BYTES, 0, 8, 0);
    let lent: Uint8Array | null = null;
    const length = await new Promise((resolve) => {
      handle.read(2, 4, ({ bytes }) => {
        lent = bytes;
        resolve(bytes!.length);
      });
    });
    assertEquals([length, lent!], [4, new Uint8Array(0)]);
    handle.close();
  }));

Deno.test("FolderFileSystem.open() continues a file and tells its length", () =>
  onFolder((disk, folder) => {
    writeFileSync(`${folder}/a`, BYTES);
    const handle = disk.open("a", "readwrite");
    assertEquals(handle.byteLength, 8);
    handle.write(BYTES, 0, 1, 8);
    handle.truncate(10);
    assertEquals([...handle.readNow(7, 9)], [8, 1, 0]);
    handle.truncate(1);
    assertEquals(handle.byteLength, 1);
    handle.close();
    const reader = disk.open("a", "read");
    assertEquals(codeOf(() => reader.write(BYTES, 0, 1, 0)), "EBADF");
    reader.close();
  }));

Deno.test("FolderFileSystem reads and writes far behind 4 GiB", () =>
  onFolder(async (disk) => {
    const handle = disk.open("sparse", "create");
    const far = 5 * 2 ** 30 + 3;
    handle.write(BYTES, 0, 8, far);
    assertEquals(handle.byteLength, far + 8);
    assertEquals([...handle.readNow(far - 1, 3)], [0, 1, 2]);
    assertEquals((await read(handle, far + 6, 9)).bytes, new Uint8Array([7, 8]));
    handle.truncate(far + 1);
    assertEquals([...handle.readNow(far, 3)], [1]);
    handle.close();
  }));

Deno.test("FileHandle.close() lets syncs and reads under way end, and nothing begin", () =>
  onFolder(async (disk) => {
    const handle = disk.open("a", "create");
    handle.write(BYTES, 0, 8, 0);
    const log: string[] = [];
    const sync = synced(handle).then((error) => log.push(`sync ${error}`));
    const reading = read(handle, 0, 8).then(({ bytes }) => log.push(`read ${bytes?.length}`));
    handle.close();
    assertEquals(log, []);
    assertThrows(() => handle.readNow(0, 1), AssertionError, "a is closed");
    assertThrows(() => handle.sync(() => {}), AssertionError, "a is closed");
    assertThrows(() => handle.close(), AssertionError, "a is closed");
    await Promise.all([sync, reading]);
    assertEquals(log.sort(), ["read 8", "sync null"]);
  }));

Deno.test("FolderFileSystem lists, renames and removes names", () =>
  onFolder((disk) => {
    disk.makeFolder("f/g");
    disk.makeFolder("f/g");
    for (const path of ["b", "a", "f/c"]) disk.open(path, "create").close();
    assertEquals(disk.list(""), ["a", "b", "f/"]);
    assertEquals(disk.list("f"), ["c", "g/"]);
    assertEquals(disk.list("nowhere"), []);
    disk.rename("f/c", "a");
    disk.remove("b");
    disk.remove("b");
    assertEquals(codeOf(() => disk.removeFolder("f")), "ENOTEMPTY");
    disk.removeFolder("f/g");
    disk.removeFolder("f/g");
    disk.syncFolder("f");
    disk.syncFolder("");
    assertEquals(disk.list(""), ["a", "f/"]);
    assertEquals(disk.list("f"), []);
  }));

Deno.test("FolderFileSystem removes a name later, also one that is gone, and says what hinders it", () =>
  onFolder(async (disk) => {
    const removed = (path: string) =>
      new Promise<DiskError | null>((resolve) => disk.removeLater(path, resolve));
    disk.open("a", "create").close();
    disk.makeFolder("f/g");
    assertEquals([await removed("a"), await removed("a")], [null, null]);
    assertEquals(disk.list(""), ["f/"]);
    assertEquals((await removed("f"))!.path, "f");
  }));

Deno.test("FolderFileSystem fails with the system's names", () =>
  onFolder((disk) => {
    disk.open("a", "create").close();
    disk.makeFolder("f");
    assertEquals(codeOf(() => disk.open("a", "create")), "EEXIST");
    assertEquals(codeOf(() => disk.open("b", "read")), "ENOENT");
    assertEquals(codeOf(() => disk.open("b", "readwrite")), "ENOENT");
    assertEquals(codeOf(() => disk.open("g/b", "create")), "ENOENT");
    assertEquals(codeOf(() => disk.open("f", "readwrite")), "EISDIR");
    assertEquals(codeOf(() => disk.rename("b", "c")), "ENOENT");
    assertEquals(codeOf(() => disk.makeFolder("a")), "EEXIST");
    assertEquals(codeOf(() => disk.syncFolder("g")), "ENOENT");
    assertThrows(() => disk.open("b", "read"), DiskError, "ENOENT: b");
  }));

Deno.test("FolderFileSystem refuses paths that leave the folder", () =>
  onFolder((disk) => {
    for (const path of ["/etc/passwd", "..", "../a", "f/../../a", "./a", "a/", "a//b", "a\\b"]) {
      assertThrows(() => disk.open(path, "create"), AssertionError, "not a path");
      assertThrows(() => disk.list(path), AssertionError, "not a path");
      assertThrows(() => disk.remove(path), AssertionError, "not a path");
      assertThrows(() => disk.removeFolder(path), AssertionError, "not a path");
      assertThrows(() => disk.rename("a", path), AssertionError, "not a path");
    }
    assertThrows(() => disk.removeFolder(""), AssertionError, "not a path");
  }));

Deno.test({
  name: "FileHandle.write() fails with ENOSPC on a full disk",
  ignore: !existsSync("/dev/full"),
  fn: () =>
    onFolder((disk, folder) => {
      symlinkSync("/dev/full", `${folder}/full`);
      const handle = disk.open("full", "readwrite");
      assertEquals(codeOf(() => handle.write(BYTES, 0, 8, 0)), "ENOSPC");
      assertThrows(() => handle.write(BYTES, 0, 8, 0), DiskError, "ENOSPC: full");
      handle.close();
    }),
});

Deno.test({
  name: "FileHandle.sync() calls back with the error of a file that cannot be synced",
  ignore: !existsSync("/dev/full"),
  fn: () =>
    onFolder(async (disk, folder) => {
      symlinkSync("/dev/full", `${folder}/device`);
      const handle = disk.open("device", "readwrite");
      assertEquals((await synced(handle))?.code, "EINVAL");
      assertEquals(codeOf(() => handle.syncNow()), "EINVAL");
      handle.close();
    }),
});

Deno.test("FolderFileSystem makes its folder and those above it", () =>
  onFolder((_, folder) => {
    const disk = new FolderFileSystem(`${folder}/x/y`);
    assertEquals(disk.folder, `${folder}/x/y`);
    disk.open("a", "create").close();
    assert(existsSync(`${folder}/x/y/a`));
    assertEquals(codeOf(() => new FolderFileSystem(`${folder}/x/y/a`)), "ENOTDIR");
    assertEquals(codeOf(() => new FolderFileSystem(`${folder}/x/y/a/b`)), "ENOTDIR");
  }));

Deno.test("FolderFileSystem.freeBytes() tells what the disk has left", () =>
  onFolder((disk) => {
    assertGreater(disk.freeBytes(), 0);
    assert(Number.isInteger(disk.freeBytes()));
  }));
