// handOver(): in which order the sink gets what recovery has found, and what counts as missing.

import { assertEquals } from "@std/assert";
import { DataFiles } from "../../../../src/store/folder/data_files.ts";
import {
  dyingState,
  STATE_DELAYED,
  STATE_OUT,
  STATE_READY,
} from "../../../../src/store/format/format.ts";
import { emptyRow } from "../../../../src/store/format/message_row.ts";
import type { PageDelays, PageOwner, PagePlace } from "../../../../src/store/page.ts";
import type { DeathCause, QueueSink, RecoverySink } from "../../../../src/store/port.ts";
import { type Adopter, handOver } from "../../../../src/store/recovery/hand_over.ts";
import { PositionTable } from "../../../../src/store/recovery/position_table.ts";
import { RecoveredRows } from "../../../../src/store/recovery/recovered_rows.ts";
import { Recovered } from "../../../../src/store/recovery/recovery.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";

const FILE = 3;
const MISSING_FILE = 4;
const LANE = { queueId: 7, nextPosition: 1, pushPage() {}, pagedIn() {} };
const DELAYED_OWNER: PageOwner = { queueId: 7, pushPage() {}, pagedIn() {} };

function recoveredState(): Recovered {
  return new Recovered(new DataFiles(new MemoryDisk()), 1);
}

/** Places a message of queue 7. */
function place(recovered: Recovered, position: number, state: number, file = FILE): void {
  const delay = state === STATE_DELAYED ? { dueMs: 5000, delayNumber: 8 } : {};
  const row = { ...emptyRow(), file, offset: 10 * position, state, entry: 2, bodyBytes: 16 };
  recovered.placed({ ...row, ...delay, queueId: 7, position });
}

function page(first: number, delays: PageDelays | null = null, file = FILE): PagePlace {
  const where = { file, offset: 0, byteLength: 100, indexEnd: 50 };
  return {
    ...where,
    first,
    last: first + 2,
    count: 3,
    bodyBytes: 9,
    expiryMinMs: Infinity,
    delays,
  };
}

const DELAYS = { wakeMinMs: 1, wakeMaxMs: 2, lastNumber: 3 };

/** Hands over, and returns all that the sink and the store were told. */
function handedOver(recovered: Recovered, owner: PageOwner | null = DELAYED_OWNER): unknown[] {
  const told: unknown[] = [];
  const adopter: Adopter = {
    adopt: ({ file, position }) => file === FILE ? 100 + position : 0,
    adoptPage: (taker, { file }) => {
      if (file === FILE) told.push(["adopt page", taker === LANE ? "lane" : "delayed"]);
      return file === FILE;
    },
    laneOf: (queueId) => queueId === LANE.queueId ? LANE : undefined,
  };
  const queue: QueueSink = {
    delayedOwner: owner,
    ready: ({ ref, position, entry }) => told.push(["ready", ref, position, entry]),
    out: ({ ref, position, entry }) => told.push(["out", ref, position, entry]),
    delayed: ({ ref, position, dueMs, delayNumber }) =>
      told.push(["delayed", ref, position, dueMs, delayNumber]),
    dying: ({ ref, position }, cause) => told.push(["dying", ref, position, cause]),
    readyPage: ({ first }) => told.push(["ready page", first]),
    delayedPage: ({ first }) => told.push(["delayed page", first]),
    missing: (count) => told.push(["missing", count]),
  };
  const sink: RecoverySink = {
    lastQueueId: (queueId) => told.push(["last queue id", queueId]),
    defined: (kind, value) => told.push(["defined", kind, value]),
    queue: (queueId) => queueId === LANE.queueId ? queue : null,
    ended: () => told.push("ended"),
  };
  LANE.nextPosition = 1;
  handOver(recovered, adopter, sink);
  return told;
}

Deno.test("handOver() gives the last id, definitions by kind, the messages of each queue, and the end", () => {
  const recovered = recoveredState();
  recovered.defined("deleted", "k4", { id: 9 });
  recovered.defined("binding", "k3", "b");
  recovered.defined("queue", "k2", { id: 7 });
  recovered.defined("exchange", "k1", "x");
  place(recovered, 1, STATE_READY);
  assertEquals(handedOver(recovered), [
    ["last queue id", 9],
    ["defined", "exchange", "x"],
    ["defined", "queue", { id: 7 }],
    ["defined", "binding", "b"],
    ["defined", "deleted", { id: 9 }],
    ["ready", 101, 1, 2],
    "ended",
  ]);
  assertEquals(LANE.nextPosition, 2);
});

Deno.test("handOver() gives each message by its state, by rising position", () => {
  const recovered = recoveredState();
  const causes: DeathCause[] = ["rejected", "expired", "maxlen", "delivery_limit"];
  causes.forEach((cause, index) => place(recovered, 20 + index, dyingState(cause)));
  place(recovered, 12, STATE_DELAYED);
  place(recovered, 11, STATE_OUT);
  place(recovered, 10, STATE_READY);
  assertEquals(handedOver(recovered).slice(1), [
    ["ready", 110, 10, 2],
    ["out", 111, 11, 2],
    ["delayed", 112, 12, 5000, 8],
    ...causes.map((cause, index) => ["dying", 120 + index, 20 + index, cause]),
    "ended",
  ]);
});

Deno.test("handOver() gives pages of ready messages between the messages around them, delayed ones first", () => {
  const recovered = recoveredState();
  for (const position of [2, 6, 14]) place(recovered, position, STATE_READY);
  for (const first of [20, 10, 7, 3]) recovered.paged(7, page(first), [0, 3]);
  recovered.paged(7, page(30, DELAYS), [0, 3]);
  assertEquals(handedOver(recovered).slice(1), [
    ["adopt page", "delayed"],
    ["delayed page", 30],
    ["ready", 102, 2, 2],
    ["adopt page", "lane"],
    ["ready page", 3],
    ["ready", 106, 6, 2],
    ["adopt page", "lane"],
    ["ready page", 7],
    ["adopt page", "lane"],
    ["ready page", 10],
    ["ready", 114, 14, 2],
    ["adopt page", "lane"],
    ["ready page", 20],
    "ended",
  ]);
  // Positions of the last page are not given out again.
  assertEquals(LANE.nextPosition, 33);
});

Deno.test("handOver() counts messages as missing whose file is gone, and pages that nobody takes", () => {
  const recovered = recoveredState();
  place(recovered, 1, STATE_READY, MISSING_FILE);
  place(recovered, 2, STATE_READY);
  recovered.paged(7, page(10, null, MISSING_FILE), [0, 3]);
  recovered.paged(7, page(20, DELAYS, MISSING_FILE), [0, 3]);
  const after = [["missing", 1], ["ready", 102, 2, 2], ["missing", 3], "ended"];
  assertEquals(handedOver(recovered).slice(1), [["missing", 3], ...after]);
  // A queue without retries takes no page of delayed messages.
  const other = recoveredState();
  other.paged(7, page(20, DELAYS), [0, 3]);
  assertEquals(handedOver(other, null).slice(1), [["missing", 3], "ended"]);
});

Deno.test("handOver() leaves out the messages of a queue that the sink does not know, and pages without a lane", () => {
  const recovered = recoveredState();
  const row = { ...emptyRow(), file: FILE };
  recovered.placed({ ...row, queueId: 8, position: 1 });
  recovered.paged(8, page(10), [0, 3]);
  assertEquals(handedOver(recovered).slice(1), ["ended"]);
});

Deno.test("handOver() gives up what it has handed over", () => {
  const recovered = recoveredState();
  for (let position = 1; position <= 3; position++) place(recovered, position, STATE_READY);
  recovered.paged(7, page(10), []);
  recovered.finish();
  handedOver(recovered);
  // The rows begin anew.
  assertEquals([recovered.queues.size, recovered.rows.allocate()], [0, 1]);
  assertEquals(recovered.queue(7).positions.count, 0);
});

Deno.test("handOver() has positions go on behind the last one, where there is a lane", () => {
  const lanes = new Map([[5, { nextPosition: 3 }], [6, { nextPosition: 30 }]]);
  const queueOf = () => ({
    positions: new PositionTable(new RecoveredRows()),
    pages: new Map(),
    lastPosition: 9,
  });
  const calls: string[] = [];
  const none = { exchange: new Map(), queue: new Map(), binding: new Map(), deleted: new Map() };
  const recovered = {
    queueIdMax: 8,
    definitions: { ...none, queue: new Map([["q", { id: 5 }]]) },
    queues: new Map([5, 6, 7, 8].map((queueId) => [queueId, queueOf()])),
    forgetMessages: () => void calls.push("forget"),
  };
  const adopter = { laneOf: (queueId: number) => lanes.get(queueId) };
  const sink = {
    lastQueueId: (queueId: number) => void calls.push(`last ${queueId}`),
    defined: (kind: string, { id }: { id: number }) => void calls.push(`${kind} ${id}`),
    queue: (queueId: number) => {
      calls.push(`queue ${queueId}`);
      return queueId === 8 ? null : {};
    },
    ended: () => void calls.push("ended"),
  };
  handOver(...[recovered, adopter, sink] as unknown as Parameters<typeof handOver>);
  assertEquals([...lanes.values()].map(({ nextPosition }) => nextPosition), [10, 30]);
  const queues = [5, 6, 7, 8].map((queueId) => `queue ${queueId}`);
  assertEquals(calls, ["last 8", "queue 5", ...queues, "forget", "ended"]);
});
