// Spiller: records that no disk has get a place when they are safe, unless they have gone meanwhile.

import { assertEquals, assertThrows } from "@std/assert";
import { DiskError } from "../../../../src/store/file_system.ts";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { SegmentWriter } from "../../../../src/store/folder/segment_writer.ts";
import { BATCH_HEADER_BYTES } from "../../../../src/store/format/format.ts";
import { Holdings } from "../../../../src/store/live/holdings.ts";
import { Arena } from "../../../../src/store/memory/arena.ts";
import { Spiller } from "../../../../src/store/residency/spiller.ts";
import { emptySource } from "../../../../src/store/views.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const MIB = 1024 * 1024;

function start() {
  const disk = new MemoryDisk();
  const files = new DataFiles(disk);
  const arena = new Arena();
  const holdings = new Holdings();
  const emptied: DataFile[] = [];
  const segments = new SegmentWriter({
    files,
    fileBytesMax: 64 * MIB,
    wake() {},
    emptied: (file) => void (emptied.includes(file) || emptied.push(file)),
    failed() {},
  });
  const parts = {
    arena,
    holdings,
    segments,
    seed: 3,
  };
  const spiller = new Spiller(parts);
  const record = (bodyBytes: number) => {
    const body = new Uint8Array(bodyBytes).fill(9);
    return arena.append({ ...emptySource(), body, bodyStart: 0, bodyEnd: bodyBytes }, 1);
  };
  const settle = () => {
    const written: number[] = [];
    return { isGood: spiller.settle((ref) => written.push(ref)), written };
  };
  const segment = () => files.ofKind("segment").at(-1)!;
  return { disk, holdings, emptied, segments, spiller, record, settle, segment };
}

Deno.test("Spiller gives records their places when they are safe", () => {
  const { disk, holdings, emptied, spiller, record, settle, segment } = start();
  const refs = [300, 5, 1000].map(record);
  assertEquals([spiller.write(0), spiller.isFull, spiller.hasSettled], [false, false, false]);
  for (const ref of refs) spiller.add(ref);
  assertEquals([spiller.write(0), spiller.write(0)], [true, false]);
  const file = segment();
  assertEquals([spiller.hasSettled, file.draftCount, file.liveRecords], [false, 1, 0]);
  disk.finishAll();
  assertEquals(spiller.hasSettled, true);
  assertEquals(settle(), { isGood: true, written: refs });
  assertEquals([spiller.hasSettled, file.draftCount, file.liveRecords], [false, 0, 3]);
  const places = refs.map((ref) => ({
    at: holdings.offsetOf(ref),
    end: holdings.offsetOf(ref) + holdings.recordBytesOf(ref),
  }));
  assertEquals(places[0]!.at, BATCH_HEADER_BYTES);
  assertEquals([places[0]!.end, places[1]!.end], [places[1]!.at, places[2]!.at]);
  assertEquals(file.liveBytes, places[2]!.end - places[0]!.at);
  const bytes = disk.contentOf(file.name)!;
  const bodies = places.map(({ at, end }) => bytes.subarray(at, end).filter((one) => one === 9));
  for (const [index, size] of [300, 5, 1000].entries()) {
    assertEquals(bodies[index]!.length >= size && bodies[index]!.length <= size + 2, true);
  }
  assertEquals(emptied, []);
});

Deno.test("Spiller adds a second group behind the first, and settles them in order", () => {
  const { disk, holdings, spiller, record, settle, segment } = start();
  const [first, second] = [record(300), record(300)];
  spiller.add(first);
  spiller.write(0);
  const firstEnd = segment().byteLength;
  // A record that is being written is not written again.
  spiller.add(first);
  assertEquals(spiller.write(0), false);
  spiller.add(second);
  spiller.write(0);
  assertEquals(segment().draftCount, 2);
  disk.finish(2);
  assertEquals(settle().written, [first]);
  assertEquals(spiller.hasSettled, false);
  disk.finishAll();
  assertEquals([spiller.hasSettled, settle().written], [true, [second]]);
  assertEquals(holdings.offsetOf(second), firstEnd + BATCH_HEADER_BYTES);
  spiller.add(first);
  assertEquals(spiller.write(0), true);
});

Deno.test("Spiller forgets records that are freed or get another place before they are safe", () => {
  const { disk, holdings, emptied, spiller, record, settle, segment } = start();
  const refs = [300, 300, 300].map(record);
  for (const ref of refs) spiller.add(ref);
  spiller.write(0);
  spiller.freed(refs[0]!);
  spiller.freed(77);
  holdings.place(refs[1]!, 50, 8, 8);
  disk.finishAll();
  assertEquals(settle(), { isGood: true, written: [refs[2]] });
  assertEquals([holdings.fileOf(refs[0]!), holdings.fileOf(refs[1]!)], [0, 50]);
  assertEquals([segment().liveRecords, emptied], [1, []]);
});

Deno.test("Spiller says that a file is empty when none of its records is left", () => {
  const { disk, emptied, spiller, record, settle, segment } = start();
  const refs = [300, 300].map(record);
  for (const ref of refs) {
    spiller.add(ref);
    spiller.write(0);
    spiller.freed(ref);
  }
  disk.finishAll();
  settle();
  assertEquals([segment().draftCount, emptied], [1, []]);
  settle();
  assertEquals(emptied, [segment()]);
});

Deno.test("Spiller gives up a group that the disk has lost, and may write its records again", () => {
  const { disk, holdings, emptied, spiller, record, settle, segment } = start();
  const ref = record(300);
  spiller.add(ref);
  disk.failNext("sync", "EIO");
  spiller.write(0);
  const lost = segment();
  disk.finishAll();
  assertEquals(spiller.hasSettled, true);
  assertEquals(settle(), { isGood: false, written: [] });
  assertEquals([holdings.fileOf(ref), lost.liveRecords, emptied], [0, 0, [lost]]);
  spiller.add(ref);
  assertEquals(spiller.write(0), true);
  disk.finishAll();
  assertEquals(settle(), { isGood: true, written: [ref] });
  assertEquals(holdings.fileOf(ref), segment().number);
});

Deno.test("Spiller.write() leaves everything as it was when the disk refuses it", () => {
  const { disk, spiller, record, settle } = start();
  const ref = record(300);
  spiller.add(ref);
  disk.failNext("write", "ENOSPC");
  assertThrows(() => spiller.write(0), DiskError, "ENOSPC");
  assertEquals([spiller.write(0), spiller.isFull, spiller.hasSettled], [false, false, false]);
  spiller.add(ref);
  assertEquals(spiller.write(0), true);
  disk.finishAll();
  assertEquals(settle().written, [ref]);
});

Deno.test("Spiller is full with a group of a MiB, or with eight MiB on their way", () => {
  const { disk, spiller, record, settle } = start();
  spiller.add(record(MIB - 1000));
  assertEquals(spiller.isFull, false);
  spiller.add(record(1000));
  assertEquals(spiller.isFull, true);
  spiller.write(0);
  assertEquals(spiller.isFull, false);
  for (let groups = 2; groups <= 8; groups++) {
    assertEquals(spiller.isFull, false);
    spiller.add(record(MIB));
    spiller.write(0);
  }
  assertEquals(spiller.isFull, true);
  disk.finishAll();
  settle();
  assertEquals(spiller.isFull, false);
  while (spiller.hasSettled) settle();
  // A huge record leaves no huge buffer behind, and the next group begins anew.
  spiller.add(record(9 * MIB));
  spiller.write(0);
  assertEquals(spiller.isFull, true);
  disk.finishAll();
  settle();
  const small = record(300);
  spiller.add(small);
  assertEquals([spiller.isFull, spiller.write(0)], [false, true]);
  disk.finishAll();
  assertEquals(settle().written, [small]);
});
