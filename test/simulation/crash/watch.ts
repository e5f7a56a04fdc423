// Stands between broker and store: every state entry is checked against what clients were promised and
// entered in the ledger, then passed on. One watch per life of a node.

import type { Broker } from "../../../src/broker/broker.ts";
import type { Queue } from "../../../src/broker/queue/queue.ts";
import { retryDelayMs } from "../../../src/broker/retry/rules.ts";
import type { FileStore } from "../../../src/store/file_store.ts";
import { packEntry, unpackEntry } from "../../../src/store/format/batch_writer.ts";
import {
  type Death,
  type DeathCause,
  type Delay,
  ENTRY_COUNT_MASK,
  type EntrySink,
  type RecordView,
  type RemovalCause,
} from "../../../src/store/port.ts";
import { emptyView } from "../../../src/store/views.ts";
import { type Ledger, Violation } from "./ledger.ts";
import { keyOf, type Messages } from "./messages.ts";
import { DELAYED, DYING, isDying, OUT, READY, type Row } from "./state.ts";

/** What a watch looks at. */
export interface Watched {
  readonly broker: Broker;
  readonly store: FileStore;
  readonly ledger: Ledger;
  readonly messages: Messages;
  /** Reads may fail, so a dead letter may be lost, with an error in the log. */
  readonly mayFailReads: boolean;
}

/** Checks the entries of one life. */
export class Watch {
  /** Keys that clients ack in this turn, */
  readonly acking: Set<string> = new Set();
  /** and those they have rejected for good. */
  readonly rejecting: Set<string> = new Set();
  /** Queue and position of what the operator has taken out of its delay to come back at once. */
  readonly releasing: Set<string> = new Set();
  /** Queue and position of what was given up and has not got to the dead-letter exchange. */
  readonly #leaving: Set<string> = new Set();
  /** What has left a queue in the open batch otherwise than by an ack. */
  #gone: { readonly queueId: number; readonly key: string; readonly cause: RemovalCause }[] = [];
  /** Batch of each delay that is not safe, by queue and position. */
  readonly #delays: Map<string, number> = new Map();
  readonly #parts: Watched;
  readonly #queues = new Map<number, Queue>();
  readonly #lastPositions = new Map<number, number>();
  readonly #view: RecordView = emptyView();

  constructor(parts: Watched) {
    this.#parts = parts;
    const { entries } = parts.store;
    const { deadLetters } = parts.broker;
    for (const name of ["add", "restore"] as const) {
      const pass = deadLetters[name].bind(deadLetters);
      deadLetters[name] = (letter) => {
        this.#leaving.add(`${letter.queue.id}/${letter.position}`);
        this.#queues.set(letter.queue.id, letter.queue);
        pass(letter);
      };
    }
    const before = <K extends keyof EntrySink>(name: K, look: EntrySink[K]): void => {
      const pass = entries[name].bind(entries) as (...args: unknown[]) => void;
      const both = (...args: unknown[]): void => {
        (look as (...args: unknown[]) => void)(...args);
        pass(...args);
      };
      Object.assign(entries, { [name]: both });
    };
    before("enqueued", (...args) => this.#enqueued(...args));
    before("delivered", (...args) => this.#delivered(...args));
    before("requeued", (...args) => this.#requeued(...args));
    before("delayed", (...args) => this.#delayed(...args));
    before("dying", (...args) => this.#dying(...args));
    before("returned", (...args) => this.#returned(...args));
    before("removed", (...args) => this.#removed(...args));
    before("purged", (queueId) => this.#purged(queueId));
    before("defined", (kind, key, value) => this.#defined(`${kind} ${key}`, value));
    before("undefined", (kind, key) => this.#undefined(`${kind} ${key}`));
  }

  get #batch(): number {
    return this.#parts.store.openBatch;
  }

  get #nowMs(): number {
    return this.#parts.broker.nowMs;
  }

  /** The queue with an id, as long as it exists. */
  queue(queueId: number): Queue {
    let queue = this.#queues.get(queueId);
    if (queue !== undefined) return queue;
    for (queue of this.#parts.broker.vhosts.get("/")!.queues.values()) {
      this.#queues.set(queue.id, queue);
    }
    queue = this.#queues.get(queueId);
    if (queue === undefined) throw new Violation(`an entry names the unknown queue ${queueId}`);
    return queue;
  }

  #row(queueId: number, position: number, states: readonly number[]): Row {
    const row = this.#parts.ledger.live.row(queueId, position);
    const at = `${this.queue(queueId).name} position ${position}`;
    if (row === undefined) throw new Violation(`an entry is about ${at}, where nothing is`);
    if (states.includes(row.state)) return row;
    throw new Violation(`${row.key}: an entry finds ${at} in state ${row.state}`);
  }

  #advance(queueId: number, position: number): void {
    const last = this.#lastPositions.get(queueId) ?? 0;
    if (position <= last) {
      throw new Violation(`position ${position} of queue ${queueId} comes again`);
    }
    this.#lastPositions.set(queueId, position);
  }

  #enqueued(queueId: number, position: number, ref: number): void {
    const { store, ledger, messages } = this.#parts;
    const view = this.#view;
    if (!store.open(ref, view)) throw new Violation("a new message is not in memory");
    const key = keyOf(view, this.queue(queueId).name);
    this.#advance(queueId, position);
    messages.stored(key, this.#batch);
    const { flags, priority, arrivalMs, expiryMs } = view;
    const bodyBytes = view.bodyEnd - view.bodyStart;
    const about = { flags, priority, arrivalMs, expiryMs, bodyBytes };
    const row = { key, state: READY, entry: 0, dueMs: 0, delayNumber: 0, ...about };
    ledger.enter({ kind: "enqueued", queueId, position, row });
  }

  #delivered(queueId: number, position: number, _ref: number, entry: number): void {
    const row = this.#row(queueId, position, [READY]);
    if (row.entry !== entry) throw new Violation(`${row.key}: delivered with another count`);
    this.#checkFirst(queueId, position);
    this.#setState(queueId, position, { state: OUT, entry });
  }

  // Nothing that is ready stands before what goes out. What has expired or was dropped to make room may
  // wait for its dead-lettering there.
  #checkFirst(queueId: number, position: number): void {
    const queue = this.queue(queueId);
    if (queue.args.lengthMax !== Infinity) return;
    for (const [other, row] of this.#parts.ledger.live.queues.get(queueId)!) {
      if (other >= position || row.state !== READY) continue;
      if (this.#expiryOf(queue, row) <= this.#nowMs) continue;
      throw new Violation(`${queue.name}: position ${position} goes out before ${other}`);
    }
  }

  #expiryOf(queue: Queue, row: Row): number {
    return Math.min(row.expiryMs, row.arrivalMs + queue.args.messageTtlMs);
  }

  #requeued(queueId: number, position: number, _ref: number, entry: number): void {
    const row = this.#row(queueId, position, [OUT, DELAYED]);
    if (row.state === OUT) this.#checkSpent(row, entry);
    else this.#checkUndelayed(row, `${queueId}/${position}`, entry);
    this.#setState(queueId, position, { state: READY, entry });
  }

  // Whose delay the disk has refused is ready at once, with its count; nobody else.
  #checkUndelayed(row: Row, at: string, entry: number): void {
    const batch = this.#delays.get(at);
    if (batch === undefined || !this.#parts.store.isFailed(batch)) {
      throw new Violation(`${row.key}: comes back although its delay is not refused`);
    }
    if (row.entry !== entry) throw new Violation(`${row.key}: comes back with another count`);
    this.#delays.delete(at);
  }

  /** After a turn: nothing is delayed whose delay the disk has refused. */
  checkDelays(): void {
    const { store, ledger } = this.#parts;
    for (const [at, batch] of this.#delays) {
      const [queueId, position] = at.split("/").map(Number) as [number, number];
      const row = ledger.live.row(queueId, position);
      // What has expired may be on its way to be dead-lettered, and wait to be read.
      const isDelayed = row?.state === DELAYED &&
        this.#expiryOf(this.queue(queueId), row) > this.#nowMs;
      if (isDelayed && store.isFailed(batch)) throw new Violation(`${at}: delayed, but refused`);
      if (!isDelayed || batch <= store.safeBatch) this.#delays.delete(at);
    }
  }

  #checkSpent(row: Row, entry: number): void {
    const spent = (row.entry & ENTRY_COUNT_MASK) + 1;
    if (entry !== (spent | 0x80000000) >>> 0) throw new Violation(`${row.key}: a wrong count`);
  }

  #delayed(queueId: number, position: number, _ref: number, delay: Delay): void {
    const row = this.#row(queueId, position, [OUT, DELAYED]);
    const { entry, dueMs, number: delayNumber } = delay;
    if (row.state === OUT) this.#checkSpent(row, entry);
    const spent = entry & ENTRY_COUNT_MASK;
    const delayMs = retryDelayMs(this.queue(queueId).args.retry!, spent, 0);
    if (dueMs !== Math.ceil(this.#nowMs + delayMs)) {
      throw new Violation(`${row.key}: a wrong delay`);
    }
    this.#delays.set(`${queueId}/${position}`, this.#batch);
    this.#setState(queueId, position, { state: DELAYED, entry, dueMs, delayNumber });
  }

  #dying(queueId: number, position: number, _ref: number, death: Death): void {
    const row = this.#row(queueId, position, [READY, OUT, DELAYED]);
    this.#checkCause(this.queue(queueId), row, death.reason);
    this.#leaving.add(`${queueId}/${position}`);
    const entry = unpackEntry(packEntry(death.entry));
    this.#setState(queueId, position, { state: DYING[death.reason], entry });
  }

  /** After a turn: the log says of everything that was given up that it is gone or on its way. */
  checkDecided(): void {
    for (const at of this.#leaving) {
      const [queueId, position] = at.split("/").map(Number) as [number, number];
      const row = this.#parts.ledger.live.row(queueId, position);
      if (row === undefined) this.#leaving.delete(at);
      else if (!isDying(row.state)) {
        throw new Violation(`${row.key}: given up, but no entry says so`);
      }
    }
  }

  /** Whether somebody works on the dead letter of a message. */
  isLeaving(queueId: number, position: number): boolean {
    return this.#leaving.has(`${queueId}/${position}`);
  }

  #setState(
    queueId: number,
    position: number,
    to: { state: number; entry: number; dueMs?: number; delayNumber?: number },
  ): void {
    const none = { dueMs: 0, delayNumber: 0 };
    this.#parts.ledger.enter({ kind: "state", queueId, position, ...none, ...to });
  }

  #returned(queueId: number, position: number, _ref: number, newPosition: number): void {
    const row = this.#row(queueId, position, [DELAYED]);
    if (!this.releasing.delete(`${queueId}/${position}`)) {
      if (this.#nowMs < row.dueMs) throw new Violation(`${row.key}: comes back too early`);
      this.#checkNext(queueId, row);
    }
    this.#advance(queueId, newPosition);
    this.#parts.ledger.enter({ kind: "returned", queueId, position, newPosition });
  }

  // By due time, equal ones in the order of the rejects. One that cannot be read is not waited for.
  #checkNext(queueId: number, row: Row): void {
    if (this.#parts.mayFailReads) return;
    const queue = this.queue(queueId);
    for (const other of this.#parts.ledger.live.queues.get(queueId)!.values()) {
      if (other.state !== DELAYED || this.#expiryOf(queue, other) <= this.#nowMs) continue;
      const isBefore = other.dueMs < row.dueMs ||
        other.dueMs === row.dueMs && other.delayNumber < row.delayNumber;
      if (isBefore) throw new Violation(`${row.key}: comes back before ${other.key}`);
    }
  }

  #removed(queueId: number, position: number, _ref: number, cause: RemovalCause): void {
    const { ledger, messages } = this.#parts;
    this.#leaving.delete(`${queueId}/${position}`);
    const row = this.#row(queueId, position, [READY, OUT, DELAYED, ...Object.values(DYING)]);
    if (!isDying(row.state)) this.#checkCause(this.queue(queueId), row, cause);
    else if (row.state !== DYING[cause as DeathCause]) {
      throw new Violation(`${row.key}: removed as ${cause} in state ${row.state}`);
    }
    if (cause === "acked") messages.ended(row.key, this.#batch, cause);
    else this.#gone.push({ queueId, key: row.key, cause });
    ledger.enter({ kind: "removed", queueId, position });
  }

  /** The open batch is about to be written: dead letters that have left a queue are in the next, or over. */
  closing(): void {
    for (const { queueId, key, cause } of this.#gone) {
      if (this.#isMoved(queueId, key)) continue;
      this.#checkNoDeadLetters(this.queue(queueId), key, cause);
      this.#parts.messages.ended(key, this.#batch, cause);
    }
    this.#gone = [];
  }

  #checkCause(queue: Queue, row: Row, cause: RemovalCause): void {
    const isRight = cause === "acked"
      ? this.acking.has(row.key)
      : cause === "rejected"
      ? this.rejecting.delete(row.key)
      : cause === "expired"
      ? this.#expiryOf(queue, row) <= this.#nowMs
      : cause === "maxlen"
      ? queue.args.lengthMax !== Infinity
      : cause === "delivery_limit"
      ? (row.entry & ENTRY_COUNT_MASK) + 1 > queue.args.deliveryLimit
      : false;
    if (!isRight) throw new Violation(`${row.key}: removed as ${cause}, for no reason`);
  }

  // A dead letter goes into its next queue in the batch in which it leaves.
  #isMoved(queueId: number, key: string): boolean {
    const last = this.#parts.ledger.openChanges.findLast((change) =>
      change.kind === "enqueued" && change.row.key === key
    );
    return last !== undefined && last.kind === "enqueued" && last.queueId !== queueId;
  }

  #checkNoDeadLetters(queue: Queue, key: string, cause: string): void {
    if (this.#parts.mayFailReads) return;
    // A full queue may pass on what it does not take.
    for (let source: Queue | undefined = queue; source !== undefined;) {
      if (source.args.deadLetterExchange === null) return;
      const { queues } = this.#parts.broker.vhosts.get(queue.vhost.name)!;
      const target: Queue | undefined = queues.get(source.args.deadLetterRoutingKey!);
      if (target === undefined || !target.durable) return;
      if (target.args.overflow === "drop-head") break;
      if (target.args.overflow === "reject-publish") return;
      source = target;
    }
    throw new Violation(`${key}: ${cause} in ${queue.name}, but not dead-lettered`);
  }

  #purged(queueId: number): void {
    const { ledger, messages } = this.#parts;
    for (const row of ledger.live.queues.get(queueId)?.values() ?? []) {
      if (row.state !== OUT && !isDying(row.state)) messages.ended(row.key, this.#batch, "purged");
    }
    ledger.enter({ kind: "purged", queueId });
  }

  #defined(name: string, value: unknown): void {
    const isQueue = name.startsWith("queue ") || name.startsWith("deleted ");
    const queueId = isQueue ? (value as { id: number }).id : 0;
    this.#parts.ledger.enter({ kind: "defined", name, value: JSON.stringify(value), queueId });
  }

  #undefined(name: string): void {
    const { ledger, messages } = this.#parts;
    const queueId = ledger.live.definitions.get(name)?.queueId ?? 0;
    for (const row of ledger.live.queues.get(queueId)?.values() ?? []) {
      if (name.startsWith("deleted ")) throw new Violation(`${row.key}: its queue is forgotten`);
      if (isDying(row.state)) continue;
      messages.ended(row.key, this.#batch, "deleted");
    }
    ledger.enter({ kind: "undefined", name });
    if (name.startsWith("queue ") && this.#leavesLetters(queueId)) {
      throw new Violation(`${name}: is deleted, and its dead letters with it`);
    }
  }

  #leavesLetters(queueId: number): boolean {
    const isThere = this.#parts.ledger.live.queues.has(queueId);
    return !isThere && [...this.#leaving].some((at) => at.startsWith(`${queueId}/`));
  }
}
