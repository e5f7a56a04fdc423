// The number that stands for an entry on disk.

import { assertEquals } from "@std/assert";
import { packEntry, unpackEntry } from "../../../../src/store/format/batch_writer.ts";
import { ENTRY_COUNT_MASK, ENTRY_REDELIVERED, ENTRY_UNSPENT } from "../../../../src/store/port.ts";

Deno.test("unpackEntry() gives back what packEntry() was given, in the numbers docs/storage.md names", () => {
  const entries: [entry: number, packed: number][] = [[0, 0], [ENTRY_REDELIVERED, 1]];
  for (const count of [1, 2, 20, ENTRY_COUNT_MASK]) {
    const spent = (count | ENTRY_REDELIVERED) >>> 0;
    entries.push([spent, 2 * count + 1], [(spent | ENTRY_UNSPENT) >>> 0, 2 * count]);
  }
  for (const [entry, packed] of entries) {
    assertEquals(packEntry(entry), packed);
    assertEquals(packEntry(entry | 0), packed, "also of an entry with a sign");
    assertEquals(unpackEntry(packed), entry);
  }
  // Delivered before and nothing spent: the last delivery was not spent in any case.
  assertEquals(packEntry((ENTRY_REDELIVERED | ENTRY_UNSPENT) >>> 0), 1);
});
