// What is due, against a list that is sorted every time.

import { assertEquals } from "@std/assert";
import { DelayedTable } from "../../../../src/broker/retry/delayed_table.ts";
import { DueMessages } from "../../../../src/broker/retry/due_messages.ts";
import { Prng } from "../../../../src/lib/prng.ts";

interface Due {
  row: number;
  wakeMs: number;
  number: number;
}

function compare(a: Due, b: Due): number {
  return a.wakeMs - b.wakeMs || a.number - b.number;
}

Deno.test("DueMessages.take() gives what woke first, of several at once what was rejected first", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const prng = new Prng(seed);
    const table = new DelayedTable();
    const due = new DueMessages(table);
    let naive: Due[] = [];
    let number = 0;
    for (let step = 0; step < 300; step++) {
      const dice = prng.nextBelow(10);
      if (dice < 5) {
        const wakeMs = prng.nextBelow(seed);
        number += 1 + prng.nextBelow(3);
        const shown = prng.nextBelow(2) === 0 ? number : number + 1000;
        const message = { ref: 1, position: 1, entry: 0, bodyBytes: 1, dueMs: wakeMs };
        const row = table.add({ ...message, number: shown }, 1);
        due.add(row, wakeMs);
        naive.push({ row, wakeMs, number: shown });
      } else if (dice < 8) {
        const beforeMs = prng.nextBelow(seed + 2);
        naive.sort(compare);
        const expected = naive[0] !== undefined && naive[0].wakeMs < beforeMs ? naive[0].row : -1;
        assertEquals(due.take(beforeMs), expected);
        if (expected >= 0) naive = naive.slice(1);
      } else if (dice === 8 && naive.length > 0) {
        const { row } = naive.splice(prng.nextBelow(naive.length), 1)[0]!;
        assertEquals([due.remove(row), due.remove(row)], [true, false]);
      } else if (step % 100 === 99) {
        due.clear();
        naive = [];
      }
      naive.sort(compare);
      assertEquals(due.count, naive.length);
      assertEquals(due.firstMs, naive[0]?.wakeMs ?? Infinity);
      assertEquals(due.lastMs, naive.at(-1)?.wakeMs ?? -Infinity);
    }
  }
});
