// An operator who lists delayed messages, names them and takes them out before their time: each is found
// as long as it is delayed, wherever it is, and one that is taken comes back at once or is deleted, exactly
// once. Looks go on over several turns, while everything else goes on.

import type { Queue } from "../../../src/broker/queue/queue.ts";
import { RetryLookup } from "../../../src/broker/retry/lookup.ts";
import type { RetryName } from "../../../src/broker/retry/name.ts";
import { type FoundRetry, RetryScan, SCAN_DONE } from "../../../src/broker/retry/scan.ts";
import { PAGE_GONE } from "../../../src/store/page.ts";
import { emptyView } from "../../../src/store/views.ts";
import { Violation } from "./ledger.ts";
import type { SimNode, World } from "./node.ts";
import type { Dice } from "./plan.ts";
import { DELAYED, type Row } from "./state.ts";

const LOOKS_MAX = 3;
const LISTED_MAX = 10_000;
/** Rows for each message that a step of a list may keep; see RetryScan. */
const ROWS_PER_LISTED = 64;

interface List {
  readonly queue: Queue;
  /** Numbers of the delays under way when it began, by position. */
  readonly numbers: ReadonlyMap<number, number>;
  readonly scan: RetryScan;
}

interface Look {
  readonly queue: Queue;
  readonly position: number;
  readonly name: RetryName;
  readonly lookup: RetryLookup;
}

/** The operator of one life of a node. */
export class Operator {
  readonly #world: World;
  readonly #node: SimNode;
  readonly #dice: Dice;
  readonly #view = emptyView();
  #looks: Look[] = [];
  #list: List | null = null;

  constructor(world: World, node: SimNode, dice: Dice) {
    this.#world = world;
    this.#node = node;
    this.#dice = dice;
  }

  /** Goes on with the looks under way, and begins another one now and then. */
  step(): void {
    this.#looks = this.#looks.filter((look) => !this.#goOn(look));
    if (this.#looks.length < LOOKS_MAX && this.#dice.percent(8)) this.#begin();
    if (this.#list === null && this.#dice.percent(5)) this.#beginList();
    if (this.#list !== null) this.#goOnList(this.#list);
  }

  #beginList(): void {
    const { ledger } = this.#world;
    const queues = [...this.#node.t.vhost.queues.values()].filter(({ retries }) =>
      retries !== null
    );
    if (queues.length === 0) return;
    const queue = this.#dice.pick(queues);
    const numbers = new Map<number, number>();
    for (const [position, row] of ledger.live.queues.get(queue.id) ?? []) {
      if (row.state === DELAYED) numbers.set(position, row.delayNumber);
    }
    const scan = new RetryScan(queue.retries!.delayed, { countMax: LISTED_MAX });
    this.#list = { queue, numbers, scan };
  }

  #goOnList({ queue, numbers, scan }: List): void {
    const rowsMax = ROWS_PER_LISTED * (1 + this.#dice.below(20));
    if (scan.step(rowsMax, () => {}) !== SCAN_DONE) return;
    this.#list = null;
    scan.end();
    const { ledger, plan } = this.#world;
    if (queue.isDeleted || plan.faults === "reads" || plan.faults === "any") return;
    const { delayed } = queue.retries!;
    const there = scan.found.filter((found) =>
      delayed.isHeld(found) || found.page !== null && found.page.state !== PAGE_GONE
    );
    const found = new Set(there.map(({ number }) => number));
    for (const [position, number] of numbers) {
      const row = ledger.live.row(queue.id, position);
      const isDelayed = row?.state === DELAYED && row.delayNumber === number;
      if (!isDelayed || this.#node.watch.isLeaving(queue.id, position)) continue;
      if (!found.has(number)) throw new Violation(`${row.key}: delayed, and not listed`);
    }
  }

  #begin(): void {
    const delayed = [...this.#world.ledger.live.rows()].filter(({ row }) => row.state === DELAYED);
    if (delayed.length === 0) return;
    const { queueId, position, row } = this.#dice.pick(delayed);
    const queue = this.#node.watch.queue(queueId);
    const name = { dueMs: row.dueMs, number: row.delayNumber };
    this.#world.trace(`  look for ${row.key}, delayed in ${queue.name} until ${name.dueMs}`);
    const lookup = new RetryLookup(queue.retries!.delayed, name);
    this.#looks.push({ queue, position, name, lookup });
  }

  // Returns true when the look is over.
  #goOn(look: Look): boolean {
    const { queue, lookup } = look;
    if (lookup.step(1 + this.#dice.below(20), () => {}) !== SCAN_DONE) return false;
    const { found } = lookup;
    lookup.end();
    if (!queue.isDeleted) this.#take(look, found);
    return true;
  }

  #take({ queue, position, name }: Look, found: FoundRetry | null): void {
    const { ledger, plan, trace } = this.#world;
    const row = ledger.live.row(queue.id, position);
    const isDelayed = row?.state === DELAYED && row.delayNumber === name.number;
    const isLeaving = this.#node.watch.isLeaving(queue.id, position);
    const mayFail = plan.faults === "reads" || plan.faults === "any";
    if (found === null) {
      if (!isDelayed || isLeaving || mayFail) return;
      throw new Violation(`${row.key}: delayed, and not found by its name`);
    }
    if (!isDelayed || isLeaving) throw new Violation(`${name.number}: found, but not delayed`);
    const message = queue.retries!.takeFound(found);
    if (message === null || message.position !== position || message.entry >>> 0 !== row.entry) {
      throw new Violation(`${row.key}: another message was taken`);
    }
    if (queue.retries!.takeFound(found) !== null) throw new Violation(`${row.key}: taken twice`);
    trace(`  take ${row.key} out of its delay`);
    if (this.#dice.percent(50)) this.#release(queue, message);
    else this.#delete(queue, message, row);
  }

  #release(queue: Queue, message: { ref: number; position: number; entry: number }): void {
    const { ref, position, entry } = message;
    this.#node.watch.releasing.add(`${queue.id}/${position}`);
    this.#node.store.describe(ref, this.#view);
    queue.ready.acceptReturn(ref, position, entry, this.#view);
  }

  #delete(queue: Queue, { ref, position }: { ref: number; position: number }, row: Row): void {
    this.#node.watch.acking.add(row.key);
    queue.drop(ref, position, "acked");
  }
}
