// Bits that turn over in the files of a folder while no node runs: the next start must say so, and give
// back everything that they have not touched. Works out by itself which messages were touched, from the
// batches, pages and records in which the bits lie.

import { restoreBroker } from "../../../src/broker/recovery.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import { batchAt, type BatchPlace, EntryReader } from "../../../src/store/log/batch_reader.ts";
import { type DataFileKind, parseDataFileName } from "../../../src/store/log/format.ts";
import type { MemoryDisk } from "../../support/memory_disk.ts";
import { TestBroker } from "../../support/test_broker.ts";
import { Violation } from "./ledger.ts";
import { live } from "./live.ts";
import { openStore, SimNode, type World } from "./node.ts";
import { Dice, planOf, STORE_SEED } from "./plan.ts";
import { readRows } from "./rows.ts";
import { lifeDice, newWorld } from "./simulation.ts";
import { type FoundRows, OUT, READY, type State } from "./state.ts";
import { Touched } from "./touched.ts";

interface Flip {
  readonly name: string;
  readonly kind: DataFileKind;
  readonly number: number;
  readonly offset: number;
}

/** Runs one life, turns bits over and starts again. @throws Violation */
export function runFlips(seed: number, trace: (line: string) => void = () => {}): void {
  const plan = { ...planOf(seed), faults: "none", isSynced: true, freeBytesMin: 0 } as const;
  const world = newWorld(plan, { trace });
  const node = new SimNode(world, world.nowMs);
  live(world, node, lifeDice(plan));
  node.rest();
  const disk = world.disk.crash({ kind: "process" });
  const flips = chooseFlips(disk, new Dice(seed * 8 + 5));
  const touched = new Touched(batchesOf(disk));
  for (const flip of flips) {
    trace(`flip ${flip.name} at ${flip.offset}`);
    touched.addFlip(flip);
    disk.flip(flip.name, flip.offset, seed % 8);
  }
  const store = openStore(plan, disk, trace);
  touched.addBatchesBehind(store.recovered.lastLogBatch);
  for (const { file, offset, what } of [...store.recovered.damages, ...store.recovered.cuts]) {
    trace(`  ${file} at ${offset}: ${what}`);
  }
  if (touched.hasDefinitions) return;
  checkRows(world.ledger.live, readRows(disk, store), touched);
  checkServed(world, { disk, store, touched });
}

function chooseFlips(disk: MemoryDisk, dice: Dice): Flip[] {
  const flips: Flip[] = [];
  const files = disk.paths().flatMap((name) => {
    const parsed = parseDataFileName(name);
    const byteLength = disk.contentOf(name)!.length;
    return parsed === null || byteLength === 0 ? [] : [{ name, byteLength, ...parsed }];
  });
  for (let count = dice.between(1, 3); count > 0; count--) {
    const { byteLength, ...file } = dice.pick(files);
    flips.push({ ...file, offset: dice.below(byteLength) });
  }
  return flips;
}

/** A batch with its entries, as it stands in a file. */
export interface FoundBatch {
  readonly file: number;
  readonly kind: DataFileKind;
  readonly place: BatchPlace;
  readonly entries: readonly { type: string; args: readonly unknown[] }[];
}

function batchesOf(disk: MemoryDisk): FoundBatch[] {
  const found: FoundBatch[] = [];
  const reader = new EntryReader();
  for (const name of disk.paths()) {
    const parsed = parseDataFileName(name);
    if (parsed === null) continue;
    const bytes = disk.contentOf(name)!;
    for (let at = 0; at < bytes.length; at += 8) {
      const place = batchAt(bytes, at, STORE_SEED);
      if (place === null) continue;
      const entries: { type: string; args: unknown[] }[] = [];
      const collector = new Proxy({}, {
        get: (_, type) => (...args: unknown[]) =>
          entries.push({ type: String(type), args: args.map((arg) => structuredClone(arg)) }),
      });
      reader.read(bytes, place, collector as Parameters<EntryReader["read"]>[2]);
      found.push({ file: parsed.number, kind: parsed.kind, place, entries });
      at = place.end - 8;
    }
  }
  return found;
}

function checkRows(expected: State, found: FoundRows, touched: Touched): void {
  for (const { queueId, position, row } of expected.rows()) {
    if (touched.has(queueId, position)) continue;
    const there = found.get(queueId)?.get(position);
    const at = `${row.key} in queue ${queueId} at ${position}`;
    if (there === undefined) throw new Violation(`${at}: lost by a flip elsewhere`);
    const isSame = there.key === row.key && there.state === row.state && there.entry === row.entry;
    if (!isSame) throw new Violation(`${at}: changed by a flip elsewhere: ${there.key}`);
  }
  for (const [queueId, rows] of found) {
    for (const [position, row] of rows) {
      if (touched.has(queueId, position) || expected.row(queueId, position)) continue;
      throw new Violation(`${row.key} in queue ${queueId} at ${position}: comes back`);
    }
  }
}

// Queues in which nothing was touched give back what they have.
function checkServed(
  world: World,
  from: { disk: MemoryDisk; store: FileStore; touched: Touched },
): void {
  const { disk, store, touched } = from;
  const t = new TestBroker({ store, nowMs: Math.max(world.nowMs, store.recovered.lastTimeMs) });
  restoreBroker(t.broker, store);
  for (const queue of t.vhost.queues.values()) {
    const isPlain = queue.durable && queue.args.messageTtlMs === Infinity &&
      queue.args.deliveryLimit === Infinity && queue.args.lengthMax === Infinity;
    if (!isPlain || touched.hasQueue(queue.id)) continue;
    let expected = 0;
    for (const { state, expiryMs } of world.ledger.live.queues.get(queue.id)!.values()) {
      if (expiryMs !== Infinity) expected = -Infinity;
      else if (state === READY || state === OUT) expected++;
    }
    if (expected < 0) continue;
    let got = 0;
    for (let rounds = 0; rounds < 500 && queue.readyCount > 0; rounds++) {
      if (queue.get(t.broker.delivery) === 1) got++;
      t.turn();
      disk.finishAll();
    }
    // Other queues may dead-letter into it meanwhile.
    if (got < expected) throw new Violation(`${queue.name} gives ${got} of ${expected} messages`);
  }
}
