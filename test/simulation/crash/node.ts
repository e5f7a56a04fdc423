// One life of a simulated node: a broker over a file store on a disk in memory, started from what the
// last life left. Runs turns, ends syncs and reads between them, and compares memory with the ledger.

import { restoreBroker } from "../../../src/broker/recovery.ts";
import type { Delivery } from "../../../src/broker/queue/delivery.ts";
import type { Queue } from "../../../src/broker/queue/queue.ts";
import { CAUSE_CLOSE } from "../../../src/broker/retry/rules.ts";
import { FileStore } from "../../../src/store/file_store.ts";
import { ENTRY_COUNT_MASK, ENTRY_REDELIVERED, RECORD_PERSISTENT } from "../../../src/store/port.ts";
import { emptyView } from "../../../src/store/views.ts";
import { CrashSignal, type MemoryDisk } from "../../support/memory_disk.ts";
import { TestBroker } from "../../support/test_broker.ts";
import { type OnDeliver, SimChannel } from "./channel.ts";
import { type Ledger, Violation } from "./ledger.ts";
import { keyOf, type Messages } from "./messages.ts";
import { type Dice, type Plan, STORE_SEED } from "./plan.ts";
import { readRows } from "./rows.ts";
import { DELAYED, isDying, READY } from "./state.ts";
import { Watch } from "./watch.ts";

/** What outlives a node. */
export interface World {
  readonly plan: Plan;
  readonly ledger: Ledger;
  readonly messages: Messages;
  readonly trace: (line: string) => void;
  disk: MemoryDisk;
  life: number;
  /** Broker time of the last turn. */
  nowMs: number;
  /** Does something to a store before it is used: a planted bug. */
  readonly tamper: (store: FileStore) => void;
}

/** Opens the store of a plan. @throws CrashSignal, DiskError */
export function openStore(plan: Plan, disk: MemoryDisk, trace: (line: string) => void): FileStore {
  return FileStore.open({
    fs: disk,
    logger: {
      log: (level, message, fields) =>
        trace(`  ${level}: ${message} ${fields === undefined ? "" : JSON.stringify(fields)}`),
    },
    isSynced: plan.isSynced,
    freeBytesMin: plan.freeBytesMin,
    residentBytesMax: plan.residentBytesMax,
    seed: STORE_SEED,
    sizes: plan.sizes,
  });
}

/** One life. */
export class SimNode {
  readonly store: FileStore;
  readonly t: TestBroker;
  readonly watch: Watch;
  readonly channels: SimChannel[] = [];
  /** What clients have rejected for good in this turn. */
  rejects: { readonly key: string; readonly queueId: number; readonly batch: number }[] = [];
  /** Pages of delayed messages that were read. */
  delayedReads = 0;
  readonly #world: World;
  readonly #view = emptyView();
  #channelCount = 0;

  /** Starts from what is on the disk. @throws CrashSignal, DiskError, Violation */
  constructor(world: World, nowMs: number) {
    const { plan, disk, ledger, messages, trace } = world;
    this.#world = world;
    this.store = openStore(plan, disk, trace);
    const { store } = this;
    const lastBatch = ledger.recovered(store.recovered, readRows(disk, store));
    messages.restarted(lastBatch, ledger.live);
    trace(`life ${world.life}: recovered up to batch ${lastBatch}`);
    for (const cut of store.recovered.cuts) {
      trace(`  cut: ${cut.file} at ${cut.offset}: ${cut.what}`);
    }
    for (const { file, offset, what } of store.recovered.damages) {
      throw new Violation(`damage where there is none: ${file} at ${offset}: ${what}`);
    }
    world.tamper(store);
    this.#watchCommits();
    this.#countDelayedReads();
    this.t = new TestBroker({ store, nowMs: Math.max(nowMs, store.recovered.lastTimeMs) });
    const { broker } = this.t;
    const mayFailReads = plan.faults === "reads" || plan.faults === "any";
    this.watch = new Watch({ broker, store, ledger, messages, mayFailReads });
    const { missing } = restoreBroker(broker, store);
    if (missing > 0) throw new Violation(`${missing} messages are missing`);
    this.audit();
  }

  // How often clients' messages come back from pages of delayed ones.
  #countDelayedReads(): void {
    const pages = this.store.delayedPages;
    const load = pages.load.bind(pages);
    pages.load = (page, isAhead) => {
      if (page.place.delays !== null) this.delayedReads++;
      load(page, isAhead);
    };
  }

  #watchCommits(): void {
    const { store } = this;
    const { ledger } = this.#world;
    const commit = store.commit.bind(store);
    store.commit = (nowMs) => {
      this.watch.closing();
      ledger.closing(store.openBatch);
      commit(nowMs);
      ledger.closed();
    };
  }

  get nowMs(): number {
    return this.t.nowMs;
  }

  queue(name: string): Queue | undefined {
    return this.t.vhost.queues.get(name);
  }

  /** Runs one turn in which clients do `work`. */
  turn(work: () => void, byMs = 0): void {
    const { broker } = this.t;
    const { ledger, messages } = this.#world;
    broker.beginTurn(broker.nowMs + byMs);
    work();
    broker.dispatch();
    broker.endTurn();
    broker.writeRest();
    this.#requireAlive();
    this.watch.acking.clear();
    this.watch.checkDelays();
    this.watch.checkDecided();
    for (const channel of this.channels) channel.flush(this.store.openBatch);
    for (const { key, queueId, batch } of this.rejects) messages.rejected(key, queueId, batch);
    this.rejects = [];
    ledger.settle(this.store);
    messages.settle(this.store);
  }

  /** Ends some of the syncs and reads under way, in any order. */
  io(dice: Dice, percent: number): void {
    const { disk } = this.#world;
    while (disk.pendingCount > 0 && dice.percent(percent)) {
      disk.finishAt(dice.below(disk.pendingCount));
    }
    this.#requireAlive();
  }

  /** Turns and disk operations until nothing happens any more. */
  rest(): void {
    const { disk } = this.#world;
    for (let rounds = 0; rounds < 2_000; rounds++) {
      this.turn(() => {});
      const finished = disk.finishAll();
      this.#requireAlive();
      if (finished === 0 && !this.t.broker.hasMoreWork) return;
    }
    throw new Violation("the node never comes to rest");
  }

  openChannel(): SimChannel {
    const name = `ch${++this.#channelCount}`;
    const channel = new SimChannel(name, (delivery, noAck) => this.#deliver(delivery, noAck));
    this.channels.push(channel);
    return channel;
  }

  closeChannel(channel: SimChannel): void {
    this.channels.splice(this.channels.indexOf(channel), 1);
    for (const consumer of [...channel.consumers]) consumer.queue.cancel(consumer);
    channel.held.clear();
    channel.unacked.requeueAll(CAUSE_CLOSE, true);
  }

  #deliver(delivery: Delivery, noAck: boolean): ReturnType<OnDeliver> {
    const { messages, life, trace } = this.#world;
    const { queue, view, position } = delivery;
    const key = keyOf(view, queue.name);
    const message = messages.message(key);
    if (message === undefined) throw new Violation(`${key}: delivered, but never published`);
    if (view.bodyEnd - view.bodyStart !== message.bodyBytes) {
      throw new Violation(`${key}: delivered with another size`);
    }
    const isKept = queue.durable && (view.flags & RECORD_PERSISTENT) !== 0;
    const batch = this.store.openBatch;
    trace(`  ${key} goes out from ${queue.name} ${position}, entry ${delivery.entry >>> 0}`);
    if (!isKept) {
      if (!message.isPersistent && message.life !== life) {
        throw new Violation(`${key}: transient, but survived`);
      }
      return { key, isKept, batch };
    }
    const count = messages.delivered(key, queue.id, batch);
    const entry = count === 0 ? 0 : (count | ENTRY_REDELIVERED) >>> 0;
    if (delivery.entry >>> 0 !== entry) {
      const told = delivery.entry & ENTRY_COUNT_MASK;
      throw new Violation(`${key}: was delivered ${count} times before, the broker says ${told}`);
    }
    if (count > queue.args.deliveryLimit) throw new Violation(`${key}: over the delivery limit`);
    if (noAck) this.watch.acking.add(key);
    return { key, isKept, batch };
  }

  // Code under test may have caught the signal of a crash; the machine is off all the same.
  #requireAlive(): void {
    if (this.#world.disk.crashed) throw new CrashSignal("an operation before");
  }

  // --- checks

  /** Compares what the broker has in memory with the ledger. */
  audit(): void {
    const { ledger, disk } = this.#world;
    const found = new Map<string, string>();
    const paged = new Set<number>();
    const pagedDelays = new Map<number, number>();
    for (const queue of this.t.vhost.queues.values()) {
      if (queue.durable && this.#collect(queue, found) < queue.readyCount) paged.add(queue.id);
      pagedDelays.set(queue.id, queue.retries?.delayed.pagedCount ?? 0);
    }
    for (const channel of this.channels) {
      for (const { key, queue, position, isKept } of channel.held.values()) {
        if (isKept && !queue.isDeleted) found.set(`${queue.id}/${position}`, `${key} out`);
      }
    }
    for (const { queueId, position, row } of ledger.live.rows()) {
      const at = `${queueId}/${position}`;
      // Entered or not: that is checked when a turn ends.
      if (!found.has(at) && this.watch.isLeaving(queueId, position)) continue;
      if (isDying(row.state)) {
        throw new Violation(`${row.key} at ${at}: given up, and nobody publishes it`);
      }
      const what = found.get(at);
      found.delete(at);
      if (what === undefined && row.state === DELAYED) {
        const left = (pagedDelays.get(queueId) ?? 0) - 1;
        pagedDelays.set(queueId, left);
        if (left >= 0) continue;
      }
      const isOnPage = row.state === READY && paged.has(queueId);
      if (what === undefined && (disk.pendingCount > 0 || isOnPage)) continue;
      const expected = row.state === READY
        ? `ready ${row.entry}`
        : row.state === DELAYED
        ? `delayed ${row.entry} until ${row.dueMs}`
        : `${row.key} out`;
      if (what !== expected) throw new Violation(`${row.key} at ${at}: ${expected}, but ${what}`);
    }
    for (const [at, what] of found) throw new Violation(`${at}: ${what}, which no entry says`);
  }

  // Says how many ready messages it has seen: what is on pages is not seen.
  #collect(queue: Queue, found: Map<string, string>): number {
    let seen = 0;
    const isKept = (ref: number): boolean => {
      this.store.describe(ref, this.#view);
      return (this.#view.flags & RECORD_PERSISTENT) !== 0;
    };
    queue.ready.lane.peek(queue.readyCount, (ref, position, entry) => {
      seen++;
      if (isKept(ref)) found.set(`${queue.id}/${position}`, `ready ${entry >>> 0}`);
    });
    const { delayedTable } = queue.broker;
    for (let row = 0; queue.retries !== null && row < delayedTable.rowEnd; row++) {
      if (!queue.retries.delayed.holds(row)) continue;
      const delay = delayedTable.messageAt(row);
      if (!isKept(delay.ref)) continue;
      const what = `delayed ${delay.entry >>> 0} until ${delay.dueMs}`;
      found.set(`${queue.id}/${delay.position}`, what);
    }
    return seen;
  }
}
