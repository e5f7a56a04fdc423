// RecordCopies: which records of a file are copied, and which copies count when they are safe.

import { assertEquals } from "@std/assert";
import { encodeText } from "../../../../src/lib/text.ts";
import {
  GATHERED_ALL,
  GATHERED_NONE,
  GATHERED_SOME,
} from "../../../../src/store/folder/copy_source.ts";
import { type DataFile, DataFiles } from "../../../../src/store/folder/data_files.ts";
import { DEFAULT_SIZES } from "../../../../src/store/folder/sizes.ts";
import { BatchWriter } from "../../../../src/store/format/batch_writer.ts";
import type { CommitLog } from "../../../../src/store/log/commit_log.ts";
import { Holdings } from "../../../../src/store/live/holdings.ts";
import { Arena } from "../../../../src/store/memory/arena.ts";
import { RecordCopies } from "../../../../src/store/upkeep/record_copies.ts";
import { emptySource, emptyView } from "../../../../src/store/views.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const META = { flags: 1, priority: 0, bodyBytes: 1, arrivalMs: 5, expiryMs: Infinity };

/** Records of one letter in a victim, and in another file. */
class Records {
  readonly arena = new Arena();
  readonly holdings = new Holdings();
  readonly files = new DataFiles(new MemoryDisk());
  readonly victim = this.files.create("log").file;
  readonly target = this.files.create("segment").file;
  readonly entries: [queue: number, position: number, file: number, offset: number][] = [];
  readonly loads = new Map<number, (error: Error | null) => void>();
  readonly copies: RecordCopies;

  constructor(sizes: Partial<typeof DEFAULT_SIZES> = {}) {
    const batch = {
      moved: (...entry: [number, number, number, number]) => this.entries.push(entry),
    };
    const log = { openBatch: 9, batch, wantSync: () => {} } as unknown as CommitLog;
    const load = (ref: number, done: (error: Error | null) => void) =>
      void this.loads.set(ref, done);
    const { arena, holdings } = this;
    const parts = { log, holdings, arena, load, sizes: { ...DEFAULT_SIZES, ...sizes }, seed: 1 };
    this.copies = new RecordCopies(parts);
  }

  /** Adds a record in a file, held by some queues; returns its reference. */
  add(letter: string, queues: readonly number[] = [1], file: DataFile = this.victim): number {
    const source = emptySource();
    source.address = source.properties = source.body = encodeText(letter);
    source.bodyEnd = 1;
    const ref = this.arena.append(source, queues.length);
    this.holdings.place(ref, file.number, 100 + ref, 40);
    for (const queue of queues) this.holdings.add(ref, queue, ref * 10 + queue);
    file.liveRecords++;
    file.liveBytes += 40;
    return ref;
  }

  evict(ref: number): void {
    this.arena.evict(ref, META);
  }

  /** The letters that were copied. */
  letters(): string {
    const { copies } = this.copies.copy(0);
    const view = emptyView();
    return copies.map(({ ref }) => {
      this.arena.open(ref, view);
      return String.fromCharCode(view.bytes[view.bodyStart]!);
    }).join("");
  }
}

Deno.test("RecordCopies.gather() finds the records of the file and no others", () => {
  const records = new Records();
  for (const letter of "abc") records.add(letter);
  records.add("x", [1], records.target);
  records.add("d");
  records.copies.begin(records.victim);
  assertEquals([records.copies.gather(), records.letters()], [GATHERED_SOME, "abcd"]);
  // The rest of the references is looked through before it is over.
  const rest = [records.copies.gather(), records.copies.gather()];
  assertEquals(rest.at(-1), GATHERED_ALL);
  assertEquals(rest[0] === GATHERED_ALL || rest[0] === GATHERED_NONE, true);
});

Deno.test("RecordCopies.gather() ends a group at each of its bounds", () => {
  const cases = [
    [{ moveGroupRecords: 2 }, 1, ["ab", "cd", "e"]],
    [{ moveGroupBytes: 120 }, 1, ["abc", "de"]],
    [{ moveGroupBytes: 121 }, 1, ["abcd", "e"]],
    [{}, 1400, ["abc", "de"]],
  ] as const;
  for (const [sizes, queueCount, groups] of cases) {
    const records = new Records(sizes);
    const queues = Array.from({ length: queueCount }, (_, index) => index + 1);
    for (const letter of "abcde") records.add(letter, queues);
    records.copies.begin(records.victim);
    const found: string[] = [];
    while (records.copies.gather() === GATHERED_SOME) found.push(records.letters());
    assertEquals(found, [...groups]);
  }
});

Deno.test("RecordCopies has read what is not in memory, and leaves out what cannot be read", () => {
  const records = new Records();
  const [a, b, c] = [..."abc"].map((letter) => records.add(letter)) as [number, number, number];
  for (const ref of [a, c]) records.evict(ref);
  records.copies.begin(records.victim);
  assertEquals([records.copies.gather(), records.copies.isReading], [GATHERED_SOME, true]);
  assertEquals([...records.loads.keys()], [a, c]);
  const source = emptySource();
  source.address = source.properties = source.body = encodeText("a");
  source.bodyEnd = 1;
  records.arena.fill(a, source);
  records.loads.get(a)!(null);
  assertEquals(records.copies.isReading, true);
  records.loads.get(c)!(new Error("damaged"));
  assertEquals([records.copies.isReading, records.letters()], [false, "ab"]);
  assertEquals(records.holdings.fileOf(b), records.victim.number);
});

Deno.test("RecordCopies.copy() leaves out what was given up again, freed or written elsewhere", () => {
  const records = new Records();
  const [a, b] = [..."abcd"].map((letter) => records.add(letter)) as [number, number];
  records.copies.begin(records.victim);
  records.copies.gather();
  records.evict(a);
  records.holdings.place(b, records.target.number, 7, 40);
  assertEquals(records.letters(), "cd");
});

Deno.test("RecordCopies.copy() gives a whole batch with the records in it, nothing when none is left", () => {
  const records = new Records();
  const ref = records.add("a");
  records.copies.begin(records.victim);
  records.copies.gather();
  const { copies, bytes, byteCount } = records.copies.copy(3);
  const expected = new BatchWriter(1);
  expected.open(new Uint8Array(16));
  const view = emptyView();
  records.arena.open(ref, view);
  const at = expected.record(view);
  const recordBytes = expected.out.byteCount - at;
  expected.finish(9, 3);
  assertEquals(bytes.slice(0, byteCount), expected.out.bytes.slice(0, expected.out.byteCount));
  assertEquals(copies, [{ ref, fromOffset: 100 + ref, at, recordBytes }]);
  assertEquals(records.copies.copy(3).copies, []);
});

Deno.test("RecordCopies.moved() places a record anew, for every queue that holds it", () => {
  const records = new Records();
  const { holdings, victim, target } = records;
  const ref = records.add("a", [1, 2]);
  records.copies.begin(victim);
  records.copies.gather();
  const [copy] = records.copies.copy(0).copies;
  records.copies.moved(copy!, target, 1000);
  assertEquals([holdings.fileOf(ref), holdings.offsetOf(ref)], [target.number, 1000 + copy!.at]);
  assertEquals(holdings.recordBytesOf(ref), copy!.recordBytes);
  assertEquals(records.entries.sort(), [
    [1, ref * 10 + 1, target.number, 1000 + copy!.at],
    [2, ref * 10 + 2, target.number, 1000 + copy!.at],
  ]);
  assertEquals([victim.liveRecords, victim.liveBytes], [0, 0]);
  assertEquals([target.liveRecords, target.liveBytes], [1, copy!.recordBytes]);
});

Deno.test("RecordCopies.moved() ignores a copy whose record has left or was written again", () => {
  for (const place of [[2, 100], [1, 7]] as const) {
    const records = new Records();
    const { holdings, victim, target } = records;
    const ref = records.add("a");
    records.copies.begin(victim);
    records.copies.gather();
    const [copy] = records.copies.copy(0).copies;
    // The reference was used again: in another file, or further on in the same one.
    const [file, offset] = place[0] === 1 ? [victim.number, place[1]] : [target.number, 100 + ref];
    holdings.place(ref, file, offset, 40);
    records.copies.moved(copy!, target, 1000);
    assertEquals([holdings.fileOf(ref), holdings.offsetOf(ref)], [file, offset]);
    assertEquals([records.entries, victim.liveRecords, target.liveRecords], [[], 1, 0]);
  }
});
