// Removals: files that nothing needs go beside the turns, and those that the disk keeps are tried again.

import { assertEquals } from "@std/assert";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { Removals } from "../../../../src/store/upkeep/removals.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

function start(count: number) {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const made = Array.from({ length: count }, () => {
    const { file, handle } = files.create("log");
    handle.close();
    return file;
  });
  const failed: string[] = [];
  const removals = new Removals(files, (what, { code }) => failed.push(`${what}: ${code}`));
  return { disk, files, made, removals, failed };
}

Deno.test("Removals.add() removes one file after the other, none within the turn", () => {
  const { disk, files, made, removals } = start(3);
  for (const file of made) removals.add(file);
  assertEquals(files.ofKind("log"), []);
  assertEquals(disk.paths().length, 3);
  assertEquals(disk.pendingCount, 1);
  disk.finishAll();
  assertEquals(disk.paths(), []);
});

Deno.test("Removals.add() removes a file once", () => {
  const { disk, made, removals, failed } = start(1);
  let removeCount = 0;
  disk.onOperation = ({ kind }) => void (kind === "remove" && removeCount++);
  removals.add(made[0]!);
  removals.add(made[0]!);
  disk.finishAll();
  assertEquals(removeCount, 1);
  assertEquals(disk.pendingCount, 0);
  assertEquals(failed, []);
});

Deno.test("Removals.step() tries again after ten seconds what the disk has refused", () => {
  const { disk, made, removals, failed } = start(2);
  disk.failNext("remove", "EIO");
  removals.step(1000);
  for (const file of made) removals.add(file);
  disk.finishAll();
  assertEquals(failed, ["remove log-00000001: EIO"]);
  assertEquals(disk.paths(), ["log-00000001"]);
  removals.step(10_999);
  assertEquals(disk.pendingCount, 0);
  removals.step(11_000);
  disk.finishAll();
  assertEquals(disk.paths(), []);
  assertEquals(failed.length, 1);
});

Deno.test("Removals.end() waits for the file that is going and leaves the others", () => {
  const { disk, made, removals } = start(2);
  for (const file of made) removals.add(file);
  let ends = 0;
  removals.end(() => ends++);
  assertEquals(ends, 0);
  disk.finishAll();
  assertEquals(ends, 1);
  assertEquals(disk.paths(), ["log-00000002"]);
});
