// FileMover: gathers, copies, waits until the copies are safe, and only then lets them count; what goes
// wrong ends it and leaves everything where it was.

import { assertEquals } from "@std/assert";
import { DiskError } from "../../../../src/store/file_system.ts";
import {
  type CopySource,
  GATHERED_ALL,
  GATHERED_NONE,
  GATHERED_SOME,
} from "../../../../src/store/folder/copy_source.ts";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { SegmentWriter } from "../../../../src/store/folder/segment_writer.ts";
import { FileMover } from "../../../../src/store/upkeep/file_mover.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

/** Things with names of one letter, which take 8 bytes each; gathered as `groups` says. */
class Letters implements CopySource<string> {
  isReading = false;
  gathered = "";
  readonly moves: string[] = [];
  readonly groups: string[];

  constructor(groups: string[]) {
    this.groups = groups;
  }

  begin(): boolean {
    return this.groups.length > 0;
  }

  gather(): number {
    const group = this.groups.shift();
    if (group === undefined) return GATHERED_ALL;
    if (group === "!") throw new DiskError("EIO", "read");
    this.gathered = group;
    return group === "" ? GATHERED_NONE : GATHERED_SOME;
  }

  copy() {
    const copies = [...this.gathered].filter((letter) => letter !== "-");
    return { copies, bytes: new Uint8Array(64), byteCount: copies.length * 8 };
  }

  moved(copy: string, file: DataFile, offset: number): void {
    this.moves.push(`${copy}@${offset}`);
    file.liveRecords++;
  }
}

class Moving {
  readonly disk = new MemoryDisk();
  readonly files = new DataFiles(this.disk);
  readonly errors: string[] = [];
  readonly emptied: string[] = [];
  readonly segments = new SegmentWriter({
    files: this.files,
    fileBytesMax: 1024,
    wake: () => {},
    emptied: ({ name }) => void this.emptied.push(name),
    failed: (what) => void this.errors.push(what),
  });
  readonly source: Letters;
  readonly mover: FileMover<string>;
  readonly victim = this.files.create("log").file;

  constructor(...groups: string[]) {
    this.source = new Letters(groups);
    const logger = { log: (_level: string, message: string) => void this.errors.push(message) };
    this.mover = new FileMover(this.source, { segments: this.segments, options: { logger } });
  }

  /** Steps until nothing can be done at once; returns how many steps that were. */
  run(): number {
    let steps = 1;
    while (this.mover.step(0)) steps++;
    return steps;
  }
}

Deno.test("FileMover moves group after group, each when its copies are safe", () => {
  const moving = new Moving("ab", "", "cd", "-");
  const { mover, source, disk, victim } = moving;
  assertEquals([mover.begin(victim), mover.isBusy, victim.isPinned], [true, true, true]);
  moving.run();
  assertEquals([source.moves, mover.step(0)], [[], false]);
  disk.finishAll();
  moving.run();
  assertEquals(source.moves, ["a@0", "b@0"]);
  disk.finishAll();
  moving.run();
  assertEquals(source.moves, ["a@0", "b@0", "c@16", "d@16"]);
  assertEquals([mover.isBusy, victim.isPinned, moving.errors], [false, false, []]);
});

Deno.test("FileMover does nothing to a file that has nothing of its kind", () => {
  const { mover, victim } = new Moving();
  assertEquals([mover.begin(victim), mover.isBusy, victim.isPinned], [false, false, false]);
});

Deno.test("FileMover waits for what is being read, also when something has failed", () => {
  const moving = new Moving("a", "!");
  const { mover, source, disk, victim } = moving;
  mover.begin(victim);
  source.isReading = true;
  assertEquals([mover.step(0), mover.isReading], [false, true]);
  source.isReading = false;
  moving.run();
  disk.finishAll();
  moving.run();
  assertEquals(moving.errors, ["cannot move records out of a data file"]);
  source.isReading = true;
  assertEquals([mover.step(0), mover.isBusy], [false, true]);
  source.isReading = false;
  assertEquals([mover.step(0), mover.isBusy, victim.isPinned], [false, false, false]);
});

Deno.test("FileMover gives up after a failed write or sync, and no copy counts", () => {
  for (const operation of ["write", "sync"] as const) {
    const moving = new Moving("ab", "cd");
    const { mover, source, disk, victim } = moving;
    disk.failNext(operation, "ENOSPC", "segment");
    mover.begin(victim);
    moving.run();
    disk.finishAll();
    moving.run();
    assertEquals([source.moves, moving.errors.length], [[], 1], operation);
    assertEquals([mover.isBusy, victim.isPinned], [false, false], operation);
    // A file that got bytes has no draft any more and may go.
    if (operation === "sync") assertEquals(moving.emptied.length > 0, true);
    // The next file is tried anew.
    source.groups.splice(0, Infinity, "e");
    assertEquals(mover.begin(victim), true);
    moving.run();
    disk.finishAll();
    moving.run();
    assertEquals(source.moves.at(-1), "e@0", operation);
  }
});
