// A file goes when what emptied it is on the disk, not a batch earlier; who would let it go earlier is
// stopped by an assertion.

import { assertEquals, assertThrows } from "@std/assert";
import { AssertionError } from "../../../../src/lib/assert.ts";
import { DataFile } from "../../../../src/store/folder/data_files.ts";
import { EmptiedFiles } from "../../../../src/store/upkeep/emptied_files.ts";

class Scene {
  readonly log = {
    openBatch: 5,
    storedBatch: 3,
    wanted: 0,
    wantSync: () => void this.log.wanted++,
  };
  readonly removed: DataFile[] = [];
  readonly file = new DataFile("segment", 7);
  isNeeded = false;
  readonly emptied = new EmptiedFiles({
    log: this.log,
    isNeeded: () => this.isNeeded,
    remove: (file) => void this.removed.push(file),
  });

  /** The turn has ended; the disk has everything up to a batch. */
  turn(storedBatch: number): void {
    this.log.openBatch++;
    this.log.storedBatch = storedBatch;
    this.emptied.step();
  }
}

Deno.test("EmptiedFiles.step() waits for the batch that emptied a file and has it synced", () => {
  const scene = new Scene();
  scene.emptied.add(scene.file);
  scene.emptied.step();
  scene.turn(4);
  assertEquals([scene.removed, scene.log.wanted], [[], 2]);
  scene.turn(5);
  assertEquals([scene.removed, scene.log.wanted], [[scene.file], 2]);
  scene.turn(6);
  assertEquals(scene.removed.length, 1);
});

Deno.test("EmptiedFiles.step() leaves a file that is used again or needed", () => {
  const uses: ((scene: Scene) => void)[] = [
    ({ file }) => file.liveRecords = 1,
    ({ file }) => file.draftCount = 1,
    ({ file }) => file.isPinned = true,
    (scene) => scene.isNeeded = true,
  ];
  for (const use of uses) {
    const scene = new Scene();
    scene.emptied.add(scene.file);
    use(scene);
    scene.turn(9);
    assertEquals([scene.removed, scene.log.wanted], [[], 0]);
  }
});

Deno.test("a file that would go a batch too early is stopped by an assertion", () => {
  const scene = new Scene();
  scene.emptied.isStored = (batch) => batch <= scene.log.storedBatch + 1;
  scene.emptied.add(scene.file);
  assertThrows(() => scene.turn(4), AssertionError, "before batch 5");
  assertEquals(scene.removed, []);
});

Deno.test("a file with live bytes that nobody counts is stopped by an assertion", () => {
  const scene = new Scene();
  scene.file.liveBytes = 8;
  scene.emptied.add(scene.file);
  assertThrows(() => scene.turn(5), AssertionError, "segment-00000007 goes with 0 live records");
});

Deno.test("EmptiedFiles removes a file once that was said to be empty twice", () => {
  const scene = new Scene();
  scene.emptied.add(scene.file);
  scene.emptied.add(scene.file);
  scene.turn(3);
  scene.emptied.add(scene.file);
  scene.turn(5);
  assertEquals(scene.removed, []);
  scene.turn(6);
  scene.turn(7);
  assertEquals(scene.removed, [scene.file]);
});
