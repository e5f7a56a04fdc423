// Rescue: what it leaves behind when it does not come to its end, and what it says of the manifest.

import { assertEquals, assertThrows } from "@std/assert";
import { Prng } from "../../../../src/lib/prng.ts";
import { Rescue } from "../../../../src/store/upkeep/rescue.ts";
import { SnapshotWriter } from "../../../../src/store/upkeep/snapshot_writer.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { rescueParts, unsureManifest } from "../support/guard_scenarios.ts";

function start() {
  const disk = new MemoryDisk();
  const dropped: SnapshotWriter[] = [];
  const parts = rescueParts(disk, { isEmpty: true });
  const drop = (snapshot: SnapshotWriter) => {
    dropped.push(snapshot);
    snapshot.abandon();
  };
  return { disk, parts, dropped, rescue: new Rescue({ ...parts, drop }) };
}

Deno.test("Rescue.end() gives a snapshot up that is not safe yet, and lets the log have the room", () => {
  const { disk, parts, dropped, rescue } = start();
  rescue.step(0);
  assertEquals([disk.paths().length, parts.log.isRepairHeld, parts.reserve.isInUse], [
    1,
    true,
    true,
  ]);
  rescue.end();
  assertEquals([dropped.length, disk.openCount], [1, 0]);
  assertEquals([parts.log.isRepairHeld, parts.reserve.isInUse], [false, false]);
  rescue.end();
  assertEquals(dropped.length, 1);
});

Deno.test("Rescue tries again a second after a snapshot that the disk has refused, and not before", () => {
  const { disk, dropped, rescue } = start();
  disk.failNext("write", "ENOSPC", "snapshot");
  rescue.step(1000);
  rescue.step(1000);
  assertEquals(dropped.length, 1);
  rescue.step(1999);
  assertEquals(disk.openCount, 0);
  rescue.step(2000);
  assertEquals(disk.openCount, 1);
});

Deno.test("Rescue.mayBeNamed() passes on what is not an error of the disk", () => {
  const { disk, rescue, parts } = start();
  rescue.step(0);
  const snapshot = { file: parts.files.ofKind("snapshot")[0]! } as SnapshotWriter;
  assertEquals(rescue.mayBeNamed(snapshot), false);
  disk.failNext("open", "EIO", "MANIFEST");
  assertEquals(rescue.mayBeNamed(snapshot), true);
  disk.open = () => {
    throw new TypeError("a bug");
  };
  assertThrows(() => rescue.mayBeNamed(snapshot), TypeError, "a bug");
});

for (const seed of [1, 2, 3, 4, 5, 6]) {
  Deno.test(`a snapshot that a manifest may name is there after a loss of power (${seed})`, () => {
    unsureManifest({ kind: "power", prng: new Prng(seed) });
  });
}
