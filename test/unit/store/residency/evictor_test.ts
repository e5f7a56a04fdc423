// Evictor: which records give up their bytes, how many in a step, and when it stops trying.

import { assertEquals } from "@std/assert";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import { SegmentWriter } from "../../../../src/store/folder/segment_writer.ts";
import { Troubles } from "../../../../src/store/folder/troubles.ts";
import { Holdings } from "../../../../src/store/live/holdings.ts";
import { Arena } from "../../../../src/store/memory/arena.ts";
import type { ReadyLane } from "../../../../src/store/port.ts";
import { Evictor } from "../../../../src/store/residency/evictor.ts";
import { ReadAhead } from "../../../../src/store/residency/read_ahead.ts";
import { emptySource, emptyView } from "../../../../src/store/views.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const MIB = 1024 * 1024;

function start(residentBytesMax: number) {
  const disk = new MemoryDisk();
  const arena = new Arena();
  const holdings = new Holdings();
  const ahead = new ReadAhead(100 * MIB);
  const lines: string[] = [];
  const segments = new SegmentWriter({
    files: new DataFiles(disk),
    fileBytesMax: 64 * MIB,
    wake() {},
    emptied() {},
    failed() {},
  });
  const evictor = new Evictor({
    options: { residentBytesMax },
    troubles: new Troubles({ log: (_level, message) => void lines.push(message) }),
    arena,
    holdings,
    ahead,
    segments,
    seed: 3,
  });
  /** A record; with a size on a disk it is in file 1. */
  const record = (bodyBytes: number, storedBytes = 0) => {
    const body = new Uint8Array(bodyBytes).fill(9);
    const facts = { flags: 3, priority: 4, arrivalMs: 5, expiryMs: 6 };
    const source = { ...emptySource(), ...facts, body, bodyStart: 0, bodyEnd: bodyBytes };
    const ref = arena.append(source, 1);
    if (storedBytes > 0) holdings.place(ref, 1, 8, storedBytes);
    return ref;
  };
  const resident = (refs: number[]) => refs.filter((ref) => arena.isResident(ref));
  return { disk, arena, ahead, lines, evictor, record, resident };
}

Deno.test("Evictor gives up records on a disk that are large enough, and keeps their facts", () => {
  const { arena, evictor, record, resident } = start(0);
  const refs = [record(500, 100), record(500, 99), record(500, 101)];
  assertEquals(evictor.step(0, 100, false), true);
  assertEquals(resident(refs), [refs[1]]);
  const view = emptyView();
  arena.describe(refs[0]!, view);
  assertEquals([view.flags, view.priority, view.arrivalMs, view.expiryMs], [3, 4, 5, 6]);
  assertEquals(view.bodyEnd - view.bodyStart, 500);
});

Deno.test("Evictor does nothing while memory is within its bound, and rests when nothing more helps", () => {
  const { evictor, record, resident, arena } = start(3 * 544);
  const refs = [record(500, 500), record(500, 500), record(500, 500)];
  assertEquals(arena.liveBytes, 3 * 544);
  assertEquals([evictor.step(0, 0, false), resident(refs).length], [false, 3]);
  const more = record(500, 500);
  assertEquals(evictor.step(0, 0, false), false);
  assertEquals(resident([...refs, more]).length < 4, true);
  const pressed = start(0);
  pressed.record(500, 50);
  pressed.record(500, 50);
  // All references have been looked at once without any use.
  const steps = Array.from({ length: 3 }, () => pressed.evictor.step(0, 100, false));
  assertEquals(steps, [true, false, false]);
});

Deno.test("Evictor leaves records alone that were read ahead or are not there any more", () => {
  const { arena, ahead, evictor, record, resident } = start(0);
  const refs = [record(500, 500), record(500, 500), record(500, 500), record(500, 500)];
  const lane = {} as ReadyLane;
  ahead.recordsFor(lane);
  ahead.add(lane, refs[1]!, 500);
  arena.release(refs[2]!);
  evictor.step(0, 0, false);
  assertEquals(resident([refs[0]!, refs[1]!, refs[3]!]), [refs[1]]);
});

Deno.test("Evictor gives up four MiB a step and goes on where it has ended", () => {
  const { evictor, record, resident } = start(0);
  const refs = Array.from({ length: 9 }, () => record(MIB, MIB));
  const left = Array.from({ length: 3 }, () => {
    evictor.step(0, 0, false);
    return resident(refs).map((ref) => refs.indexOf(ref));
  });
  assertEquals(left.map(({ length }) => length), [5, 1, 0]);
  assertEquals(left[0], [4, 5, 6, 7, 8]);
});

Deno.test("Evictor writes records that no disk has, if they are large and it may", () => {
  const { disk, evictor, record, resident } = start(0);
  const refs = [record(256), record(255), record(1000)];
  evictor.step(0, 0, false);
  assertEquals([resident(refs).length, disk.pendingCount], [3, 0]);
  evictor.step(0, 0, true);
  assertEquals([resident(refs).length, disk.pendingCount], [3, 2]);
  disk.finishAll();
  evictor.step(0, 0, true);
  assertEquals(resident(refs), [refs[1]]);
  // With a larger bound only what is as large.
  const other = start(0);
  const others = [other.record(256), other.record(999), other.record(1000)];
  other.evictor.step(0, 1000, true);
  other.disk.finishAll();
  other.evictor.step(0, 1000, true);
  assertEquals(other.resident(others), others.slice(0, 2));
});

Deno.test("Evictor says that the disk refuses to make room, and tries again a second later", () => {
  const { disk, lines, evictor, record, resident } = start(0);
  const refs = [record(500)];
  let writes = 0;
  disk.onOperation = ({ kind }) => void (kind === "write" && writes++);
  disk.failNext("write", "EIO");
  evictor.step(5000, 0, true);
  assertEquals([writes, lines], [1, ["cannot write messages to make room"]]);
  for (const nowMs of [5001, 5999]) evictor.step(nowMs, 0, true);
  assertEquals(writes, 1);
  disk.failNext("sync", "EIO");
  evictor.step(6000, 0, true);
  disk.finishAll();
  assertEquals(writes, 2);
  // The sync is known to have failed from here on.
  for (const nowMs of [6100, 7099]) evictor.step(nowMs, 0, true);
  assertEquals(writes, 2);
  evictor.step(7100, 0, true);
  disk.finishAll();
  evictor.step(7101, 0, true);
  assertEquals([writes, resident(refs)], [3, []]);
});

Deno.test("Evictor forgets a record that is freed while it is written", () => {
  const { arena, disk, evictor, record, resident } = start(0);
  const ref = record(500);
  evictor.step(0, 0, true);
  arena.release(ref);
  evictor.freed(ref);
  const again = record(600);
  assertEquals(again, ref);
  disk.finishAll();
  evictor.step(0, 1000, true);
  assertEquals(resident([again]), [again]);
});
