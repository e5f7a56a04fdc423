// The folder lock: one process at a time, taken over from the dead, refused by the living.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { detectRuntime } from "../../../src/runtime/detect.ts";
import { FolderLockedError, folderUser, takeFolderLock } from "../../../src/runtime/folder_lock.ts";
import { isRunning, ownIdentity } from "../../../src/runtime/process_identity.ts";
import { DiskError } from "../../../src/store/file_system.ts";

const CHILD = fileURLToPath(new URL("../../support/lock_child.ts", import.meta.url));
// Above the largest number a process can have on Linux.
const NO_PID = 2 ** 22 + 1;

async function onFolder(run: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(`${tmpdir()}/reprise-lock-`);
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function leave(folder: string, kind: string, parts: (string | number)[]): void {
  writeFileSync(`${folder}/${[kind, ...parts].join(".")}`, "");
}

interface Child {
  process: ChildProcess;
  /** The line it says. */
  line: Promise<string>;
  gone: Promise<void>;
}

/** Starts a process that tries to take the lock of `folder`. */
function startChild(folder: string): Child {
  const args = detectRuntime() === "deno" ? ["run", "-A", "--quiet", CHILD] : [CHILD];
  const child = spawn(process.execPath, [...args, folder], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
  const gone = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const line = new Promise<string>((resolve) => {
    let text = "";
    child.stdout.on("data", (bytes: Uint8Array) => {
      text += new TextDecoder().decode(bytes);
      if (text.endsWith("\n")) resolve(text.trim());
    });
    child.on("close", () => resolve(text));
  });
  return { process: child, line, gone };
}

async function end(child: Child): Promise<void> {
  child.process.stdin!.end();
  await child.gone;
}

Deno.test("takeFolderLock() leaves one empty file that names the process, release() none", () =>
  onFolder((folder) => {
    const lock = takeFolderLock(folder);
    const { pid, started, boot } = ownIdentity();
    assertEquals(readdirSync(folder), [`LOCK.${pid}.${started}.${boot}`]);
    assertEquals(folderUser(folder), pid);
    lock.release();
    lock.release();
    assertEquals(readdirSync(folder), []);
    assertEquals(folderUser(folder), undefined);
  }));

Deno.test("takeFolderLock() refuses a second broker in the same process", () =>
  onFolder((folder) => {
    const lock = takeFolderLock(folder);
    const message = `the data folder ${folder} is in use by process ${process.pid}`;
    const error = assertThrows(() => takeFolderLock(folder), FolderLockedError, message);
    assertEquals(error.pid, process.pid);
    assertEquals(error.folder, folder);
    lock.release();
    takeFolderLock(folder).release();
  }));

Deno.test("takeFolderLock() takes over what processes left that are gone", () =>
  onFolder((folder) => {
    const { pid, boot } = ownIdentity();
    leave(folder, "LOCK", [NO_PID, 1, boot]);
    leave(folder, "CLAIM", [NO_PID, 2, boot]);
    leave(folder, "LOCK", [NO_PID, "", ""]);
    assertEquals(folderUser(folder), undefined);
    assertEquals(readdirSync(folder).length, 3);
    const lock = takeFolderLock(folder);
    assertEquals(readdirSync(folder).map((name) => name.split(".")[1]), [String(pid)]);
    lock.release();
  }));

Deno.test({
  name: "takeFolderLock() takes over from another start or another boot of the same number",
  ignore: !existsSync("/proc/self/stat"),
  fn: () =>
    onFolder((folder) => {
      const { pid, started, boot } = ownIdentity();
      leave(folder, "LOCK", [pid, Number(started) + 1, boot]);
      leave(folder, "LOCK", [pid, started, "00000000-0000-0000-0000-000000000000"]);
      takeFolderLock(folder).release();
      assertEquals(readdirSync(folder), []);
    }),
});

Deno.test("takeFolderLock() minds no other files and needs a folder", () =>
  onFolder((folder) => {
    for (const name of ["LOCK", "LOCK.x", "manifest", "LOCKS.1.2.3"]) leave(folder, name, []);
    takeFolderLock(folder).release();
    assertEquals(readdirSync(folder).length, 4);
    const error = assertThrows(() => takeFolderLock(`${folder}/nowhere`), DiskError);
    assertEquals(error.code, "ENOENT");
  }));

Deno.test("FolderLockedError says what to remove where the system does not tell starts apart", () => {
  const owner = { pid: 7, started: "", boot: "" };
  const { message } = new FolderLockedError("/data", owner);
  const expected = "the data folder /data is in use by process 7; if that is no broker, " +
    "remove /data/LOCK.7..";
  assertEquals(message, expected);
});

Deno.test("isRunning() asks the kernel where there is no /proc", () => {
  const proc = "/nowhere";
  assertEquals(ownIdentity(proc), { pid: process.pid, started: "", boot: "" });
  assert(isRunning({ pid: process.pid, started: "", boot: "" }, proc));
  assert(isRunning({ pid: process.pid, started: "5", boot: "b" }, proc));
  assertEquals(isRunning({ pid: NO_PID, started: "5", boot: "b" }, proc), false);
});

Deno.test("isRunning() reads the state and the start behind any name of a process", () =>
  onFolder((proc) => {
    const stat = (pid: number, state: string): void => {
      const fields = [state, ...Array.from({ length: 18 }, (_, i) => String(i)), "4711", "9"];
      mkdirSync(`${proc}/${pid}`);
      writeFileSync(`${proc}/${pid}/stat`, `${pid} (a) b (c) ${fields.join(" ")}\n`);
    };
    stat(11, "S");
    stat(12, "Z");
    stat(13, "X");
    assert(isRunning({ pid: 11, started: "4711", boot: "" }, proc));
    assert(isRunning({ pid: 11, started: "", boot: "" }, proc));
    assertEquals(isRunning({ pid: 11, started: "4712", boot: "" }, proc), false);
    assertEquals(isRunning({ pid: 12, started: "4711", boot: "" }, proc), false);
    assertEquals(isRunning({ pid: 13, started: "4711", boot: "" }, proc), false);
  }));

Deno.test("takeFolderLock() is refused by another process until that one ends", () =>
  onFolder(async (folder) => {
    const child = startChild(folder);
    assertEquals(await child.line, "taken");
    const pid = child.process.pid!;
    const message = `the data folder ${folder} is in use by process ${pid}`;
    assertThrows(() => takeFolderLock(folder), FolderLockedError, message);
    assertEquals(folderUser(folder), pid);
    await end(child);
    assertEquals(readdirSync(folder), []);
    takeFolderLock(folder).release();
  }));

Deno.test("takeFolderLock() takes over from a process that was killed", () =>
  onFolder(async (folder) => {
    const child = startChild(folder);
    assertEquals(await child.line, "taken");
    child.process.kill("SIGKILL");
    await child.gone;
    assertEquals(readdirSync(folder).length, 1);
    const lock = takeFolderLock(folder);
    const refused = startChild(folder);
    assertMatch(await refused.line, new RegExp(`^refused: ${process.pid} the data folder`));
    await refused.gone;
    lock.release();
  }));

Deno.test("takeFolderLock() lets one of many have it that start at once on a stale lock", () =>
  onFolder(async (folder) => {
    leave(folder, "LOCK", [NO_PID, 1, ownIdentity().boot]);
    const children = [0, 1, 2, 3].map(() => startChild(folder));
    const lines = await Promise.all(children.map((child) => child.line));
    const winners = children.filter((_, i) => lines[i] === "taken");
    assertEquals(winners.length, 1, lines.join("; "));
    const refusal = `refused: ${winners[0]!.process.pid} `;
    assertEquals(lines.filter((line) => line.startsWith(refusal)).length, 3, lines.join("; "));
    await Promise.all(children.map(end));
    assertEquals(readdirSync(folder), []);
  }));
