// Bits that turn over in the files of a folder while no node runs: a check of the folder and the next
// start must say so with file and position, give back everything that the bits have not touched, and
// the other queues must go on. What was touched is worked out from the batches, pages and records in
// which the bits lie, by touched.ts.

import { restoreBroker } from "../../../src/broker/recovery.ts";
import { GET_MESSAGE } from "../../../src/broker/queue/get_head.ts";
import type { Queue } from "../../../src/broker/queue/queue.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import type { Damage } from "../../../src/store/log/batch_scan.ts";
import { checkStore } from "../../../src/store/recovery/folder_check.ts";
import { type DataFileKind, parseDataFileName } from "../../../src/store/format/format.ts";
import { ReadOnlyFileSystem } from "../../../src/store/read_only_file_system.ts";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { TestBroker } from "../../support/test_broker.ts";
import { batchesOf } from "./batches.ts";
import { Violation } from "./ledger.ts";
import { live } from "./live.ts";
import { openStore, SimNode, type World } from "./node.ts";
import { Dice, type Plan } from "./plan.ts";
import { readRows } from "./rows.ts";
import { lifeDice, newWorld } from "./simulation.ts";
import { type FoundRows, OUT, READY, type Row, type State } from "./state.ts";
import { Touched } from "./touched.ts";

/** What a run did. */
export interface FlipsResult {
  readonly seed: number;
  readonly flips: number;
  /** Messages that are lost, changed or back again. */
  readonly harmed: number;
  /** Places that were reported. */
  readonly reports: number;
  /** Queues that gave back what they had, and went on. */
  readonly served: number;
}

interface Flip {
  readonly name: string;
  readonly kind: DataFileKind;
  readonly number: number;
  readonly offset: number;
}

/** A folder after the flips, opened again. */
interface Flipped {
  readonly world: World;
  readonly disk: MemoryDisk;
  readonly store: FileStore;
  readonly touched: Touched;
}

/** Runs one life of a plan, turns bits over and starts again. @throws Violation */
export function runFlips(some: Plan, trace: (line: string) => void = () => {}): FlipsResult {
  const { seed } = some;
  const plan = plainer(some);
  const world = newWorld(plan, { trace });
  const node = new SimNode(world, world.nowMs);
  live(world, node, lifeDice(plan));
  node.rest();
  const disk = world.disk.crash({ kind: "process" });
  const dice = new Dice(seed * 8 + 5);
  const flips = chooseFlips(disk, dice);
  const touched = new Touched(batchesOf(disk));
  for (const flip of flips) {
    trace(`flip ${flip.name} at ${flip.offset}`);
    touched.addFlip(flip);
    disk.flip(flip.name, flip.offset, dice.below(8));
  }
  const check = checkStore(new ReadOnlyFileSystem(disk));
  const store = openStore(plan, disk, trace);
  touched.addBatchesBehind(store.recovered.lastLogBatch);
  const rows = readRows(disk, store);
  const harmed = harmedRows(world.ledger.live, rows);
  const reports = [...check.damages, ...check.cuts];
  for (const { file, offset, what } of reports) trace(`  ${file} at ${offset}: ${what}`);
  try {
    checkReports(reports, { flips, harmed });
    checkReports([...store.recovered.damages, ...store.recovered.cuts], { flips, harmed: [] });
    if (touched.hasDefinitions) return resultOf(0);
    for (const { queueId, position, what } of harmed) {
      if (!touched.has(queueId, position)) throw new Violation(`${what} by a flip elsewhere`);
    }
    return resultOf(serve({ world, disk, store, touched }));
  } catch (error) {
    if (error instanceof Error) error.message = `seed ${seed}: ${error.message}`;
    throw error;
  }

  function resultOf(served: number): FlipsResult {
    const counts = { flips: flips.length, harmed: harmed.length, reports: reports.length };
    return { seed, ...counts, served };
  }
}

// Without errors of the disk, and every other queue one that keeps what it has.
function plainer(plan: Plan): Plan {
  const queues = plan.queues.map((queue, index) =>
    index % 2 === 0 ? { ...queue, durable: true, args: {} } : queue
  );
  return { ...plan, queues, faults: "none", isSynced: true, freeBytesMin: 0 };
}

function chooseFlips(disk: MemoryDisk, dice: Dice): Flip[] {
  const files = disk.paths().flatMap((name) => {
    const parsed = parseDataFileName(name);
    const byteLength = disk.contentOf(name)!.length;
    return parsed === null || byteLength === 0 ? [] : [{ name, byteLength, ...parsed }];
  });
  const flips = new Map<string, Flip>();
  for (let count = dice.between(1, 3); count > 0; count--) {
    const { byteLength, ...file } = dice.pick(files);
    const offset = dice.below(byteLength);
    // Turned over twice, a bit is as it was.
    flips.set(`${file.name} ${offset}`, { ...file, offset });
  }
  return [...flips.values()];
}

/** A message that is not as it was. */
interface Harmed {
  readonly queueId: number;
  readonly position: number;
  readonly what: string;
}

function harmedRows(expected: State, found: FoundRows): Harmed[] {
  const harmed: Harmed[] = [];
  for (const { queueId, position, row } of expected.rows()) {
    const there = found.get(queueId)?.get(position);
    const at = `${row.key} in queue ${queueId} at ${position}`;
    if (there === undefined) harmed.push({ queueId, position, what: `${at}: lost` });
    else if (!isSame(there, row)) {
      harmed.push({ queueId, position, what: `${at}: changed to ${there.key}` });
    }
  }
  for (const [queueId, rows] of found) {
    for (const [position, row] of rows) {
      if (expected.row(queueId, position) !== undefined) continue;
      const what = `${row.key} in queue ${queueId} at ${position}: back`;
      harmed.push({ queueId, position, what });
    }
  }
  return harmed;
}

function isSame(a: Row, b: Row): boolean {
  return a.key === b.key && a.state === b.state && a.entry === b.entry;
}

// Something is reported whenever something is harmed, and then the place of a bit is among it.
function checkReports(
  reports: readonly Damage[],
  { flips, harmed }: { flips: readonly Flip[]; harmed: readonly Harmed[] },
): void {
  if (reports.length === 0) {
    if (harmed.length > 0) throw new Violation(`${harmed[0]!.what}, and nothing is reported`);
    return;
  }
  const isTold = reports.some(({ file, offset }) =>
    flips.some((flip) => flip.name === file && offset <= flip.offset)
  );
  if (!isTold) throw new Violation(`reported where no bit was: ${JSON.stringify(reports)}`);
}

// Queues in which nothing was touched give back what they have, and take and give more.
function serve({ world, disk, store, touched }: Flipped): number {
  const nowMs = Math.max(world.nowMs, store.recovered.lastTimeMs);
  const t = new TestBroker({ store, nowMs });
  restoreBroker(t.broker, store);
  const take = (queue: Queue): number => {
    let count = 0;
    for (let round = 0; round < 500 && queue.readyCount > 0; round++) {
      if (queue.get(t.broker.delivery) === GET_MESSAGE) count++;
      t.turn();
      disk.finishAll();
    }
    return count;
  };
  let served = 0;
  for (const queue of t.vhost.queues.values()) {
    if (touched.hasQueue(queue.id) || !isPlain(queue)) continue;
    const rows = [...world.ledger.live.queues.get(queue.id)!.values()];
    if (rows.some(({ expiryMs }) => expiryMs !== Infinity)) continue;
    const expected = rows.filter(({ state }) => state === READY || state === OUT).length;
    const got = take(queue);
    // Other queues may dead-letter into it meanwhile.
    if (got < expected) throw new Violation(`${queue.name} gives ${got} of ${expected} messages`);
    t.publish(queue.name, "one more", { deliveryMode: 2 });
    t.turn();
    if (take(queue) === 0) throw new Violation(`${queue.name} does not go on`);
    served++;
  }
  comeToRest(t, disk);
  return served;
}

// What cannot be read is not tried for ever.
function comeToRest(t: TestBroker, disk: MemoryDisk): void {
  for (let turns = 0; turns < 1_000; turns++) {
    t.turn();
    if (disk.finishAll() === 0 && !t.broker.hasMoreWork) return;
  }
  throw new Violation("the node never comes to rest");
}

function isPlain({ durable, args }: Queue): boolean {
  const { messageTtlMs, deliveryLimit, lengthMax } = args;
  return durable && [messageTtlMs, deliveryLimit, lengthMax].every((limit) => limit === Infinity);
}
