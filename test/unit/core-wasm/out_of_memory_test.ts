// Out of memory at every place where the core grows: chunks, timer pages, group pages and the pages of
// late timers, each at many distances from the end of its memory. What was pending stays and fires in
// order; what was refused succeeds once there is memory.

import { assert, assertEquals } from "@std/assert";
import { type CoreExports, instantiateCore } from "../../../core-wasm/instance.ts";
import { failure } from "../../../core-wasm/mod.ts";

const startMs = 1_700_000_000_000;
const timersPerPage = 8_192;
const recordsPerPage = 256;

interface Pending {
  readonly dueMs: number;
  readonly payload: number;
}

/** A core, and a plain list of what must be in it. */
class Modelled {
  readonly core: CoreExports = instantiateCore();
  readonly group: number = this.core.group_open();
  readonly pending: Pending[] = [];
  #payload = 0;

  /** The core's answer; the list follows it. */
  insert(dueMs: number): number {
    const payload = this.#payload++;
    const handle = this.core.insert(this.group, dueMs, payload);
    if (handle > 0) this.pending.push({ dueMs, payload });
    assertEquals(this.core.count(), this.pending.length);
    return handle;
  }

  /** No growth from here on. */
  closeMemory(): void {
    this.core.memory_limit(this.core.memory.buffer.byteLength);
  }

  openMemory(): void {
    this.core.memory_limit(2 ** 32);
  }

  /** Everything fires, by due time and then by insertion. */
  drain(): void {
    const sorted = this.pending.toSorted((a, b) => a.dueMs - b.dueMs || a.payload - b.payload);
    let at = 0;
    while (at < sorted.length) {
      const count = this.core.pop_due(Infinity, 512);
      const words = new Uint32Array(this.core.memory.buffer, this.core.area_at(), count * 8);
      for (let index = 0; index < count; index++) {
        assertEquals([at, words[index * 8]], [at, sorted[at++]!.payload]);
      }
    }
    this.pending.length = 0;
    assertEquals([this.core.count(), this.core.next_due()], [0, Infinity]);
  }
}

/** Fills until the first refusal, twice more, then again with memory. */
function refuse(modelled: Modelled, grow: () => number): void {
  modelled.closeMemory();
  let result = 1;
  for (let turn = 0; result > 0; turn++) {
    assert(turn < 100_000, "memory never ran out");
    result = grow();
  }
  assertEquals([result, grow(), grow()], Array(3).fill(failure.outOfMemory));
  modelled.openMemory();
  assert(grow() > 0);
  modelled.closeMemory();
}

/** Brings the end of what is allocated to different places of a page of memory. */
function pad(modelled: Modelled, chunks: number): void {
  for (let turn = 0; turn < chunks; turn++) modelled.insert(startMs + turn * 70_000);
}

function atManyDistances(check: (modelled: Modelled) => void): void {
  for (let chunks = 0; chunks < 300; chunks += 13) {
    const modelled = new Modelled();
    modelled.core.pop_due(startMs, 1);
    pad(modelled, chunks);
    check(modelled);
    modelled.drain();
    modelled.openMemory();
    assert(modelled.insert(startMs * 2) > 0);
    modelled.drain();
  }
}

Deno.test("insert() stays whole when there is no memory for a chunk", () => {
  atManyDistances((modelled) => {
    let turn = 0;
    refuse(modelled, () => modelled.insert(startMs + 2 ** (turn % 40) + turn++ * 300));
  });
});

Deno.test("insert() stays whole when there is no memory for a page of timers", () => {
  atManyDistances((modelled) => {
    while (modelled.pending.length < timersPerPage - 1) modelled.insert(startMs + 1_000);
    refuse(modelled, () => modelled.insert(startMs + 1_000));
  });
});

Deno.test("insert() stays whole when there is no memory for late timers", () => {
  atManyDistances((modelled) => {
    let turn = 0;
    refuse(modelled, () => modelled.insert(startMs - 1 - (turn++ * 7_919) % 10_000));
  });
});

Deno.test("insert() stays whole when there is no memory for a later page of late timers", () => {
  atManyDistances((modelled) => {
    for (let turn = 0; turn < 1_024; turn++) modelled.insert(startMs - 1 - (turn % 37));
    refuse(modelled, () => modelled.insert(startMs - 100));
  });
});

Deno.test("group_open() stays whole when there is no memory for a page of groups", () => {
  atManyDistances((modelled) => {
    refuse(modelled, () => modelled.core.group_open());
    // Groups that could be opened work, up to the last one.
    assertEquals(modelled.core.group_count(modelled.group), modelled.pending.length);
  });
});

Deno.test("group_clear() needs no memory, also when every group record is taken", () => {
  atManyDistances((modelled) => {
    const groups: number[] = [];
    while (groups.length < recordsPerPage - 2) groups.push(modelled.core.group_open());
    for (const group of groups) assert(modelled.core.insert(group, startMs + 5_000, 1) > 0);
    modelled.closeMemory();
    while (modelled.core.group_open() > 0);
    for (const group of groups) {
      assertEquals([modelled.core.group_clear(group), modelled.core.group_count(group)], [1, 0]);
    }
    assertEquals(modelled.core.count(), modelled.pending.length);
  });
});

Deno.test("cancel(), pop_due() and snapshots need no memory", () => {
  atManyDistances((modelled) => {
    const handles = Array.from({ length: 2_000 }, (_, turn) => {
      return modelled.core.insert(modelled.group, startMs + turn * 1_000, 1_000_000 + turn);
    });
    modelled.closeMemory();
    const size = modelled.core.memory.buffer.byteLength;
    for (const handle of handles) assert(modelled.core.cancel(handle) >= 1_000_000);
    modelled.core.snapshot_begin(0);
    let listed = 0;
    while (modelled.core.snapshot_done() === 0) listed += modelled.core.snapshot_next(512);
    assertEquals([listed, modelled.core.count()], Array(2).fill(modelled.pending.length));
    modelled.drain();
    assertEquals(modelled.core.memory.buffer.byteLength, size);
  });
});
