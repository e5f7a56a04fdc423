// What clients know of their messages: what they published and what was confirmed, which deliveries
// they saw and how it ended. Naive on purpose: facts with the batch they belong to, dropped when that
// batch turns out to be lost. Checks what is found against the promises made to clients.

import { decodeProperties } from "../../../src/amqp/properties.ts";
import { decodeText } from "../../../src/lib/text.ts";
import type { MessageSource, RecordView } from "../../../src/store/port.ts";
import { Violation } from "./ledger.ts";
import { isDying, type Row, type State } from "./state.ts";

/** A publish. */
export interface Message {
  readonly id: string;
  readonly life: number;
  /** Batch that was open when it was published. */
  readonly batch: number;
  readonly isPersistent: boolean;
  readonly bodyBytes: number;
  isConfirmed: boolean;
}

/** A message in one queue it was published to, wherever dead-lettering brings it. */
interface Instance {
  readonly key: string;
  readonly message: Message;
  /** Batch that stored it. */
  readonly batch: number;
  /** Batches of its deliveries, by queue. */
  readonly deliveries: Map<number, number[]>;
  /** How and in which batch it left the node for good. */
  end: { batch: number; how: string } | null;
  /** The queue that a client has rejected it for good from, and in which batch, once that was answered. */
  rejected: { queueId: number; batch: number } | null;
}

/** The bytes of a body: what it is called, then filler up to its size. */
export function bodyOf(id: string, bodyBytes: number): string {
  return `${id}|`.padEnd(bodyBytes, "x");
}

/** Names a message by its body and the queue it was first published to. */
export function keyOf(stored: RecordView | MessageSource, queueName: string): string {
  const isView = "bytes" in stored;
  const body = isView ? stored.bytes : stored.body;
  const raw = isView ? stored.bytes : stored.properties;
  const text = decodeText(body, stored.bodyStart, stored.bodyEnd);
  const properties = decodeProperties(raw, stored.propertiesStart, stored.propertiesEnd);
  const id = text.slice(0, Math.max(0, text.indexOf("|")));
  if (text !== bodyOf(id, text.length)) throw new Violation(`${id}: the body is not its own`);
  if (properties.messageId !== id) throw new Violation(`${id}: has properties of another message`);
  const first = properties.headers?.get("x-first-death-queue");
  const origin = first?.tag === "S" ? String(first.value) : queueName;
  return `${id}@${origin}`;
}

/** Facts about all messages of a run. */
export class Messages {
  readonly #messages = new Map<string, Message>();
  readonly #instances = new Map<string, Instance>();
  readonly #waiting: { message: Message; batch: number }[] = [];
  #lastId = 0;

  get count(): number {
    return this.#messages.size;
  }

  confirmedCount = 0;
  endCounts: Map<string, number> = new Map();

  // --- publishing

  publish(what: Omit<Message, "id" | "isConfirmed">): Message {
    const message = { ...what, id: `m${++this.#lastId}`, isConfirmed: false };
    this.#messages.set(message.id, message);
    return message;
  }

  /** The confirm of a publish waits for its batch. */
  waitFor(message: Message, batch: number): void {
    this.#waiting.push({ message, batch });
  }

  /** Confirms what is safe. */
  settle(store: { safeBatch: number; isFailed(batch: number): boolean }): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.batch <= store.safeBatch) {
      const { message, batch } = this.#waiting.shift()!;
      message.isConfirmed = !store.isFailed(batch);
      if (message.isConfirmed) this.confirmedCount++;
    }
  }

  /** How many publishers wait for a confirm. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  // --- what happens to messages

  /** A queue stores it; false when it has been stored before, as dead-lettering does. */
  stored(key: string, batch: number): boolean {
    const known = this.#instances.get(key);
    if (known !== undefined && known.end === null) return false;
    if (known !== undefined) {
      throw new Violation(`${key}: stored after it was ${known.end!.how}`);
    }
    const message = this.#messages.get(key.slice(0, key.indexOf("@")));
    if (message === undefined) throw new Violation(`${key}: nobody has published it`);
    const nothing = { deliveries: new Map(), end: null, rejected: null };
    this.#instances.set(key, { key, message, batch, ...nothing });
    return true;
  }

  message(key: string): Message | undefined {
    return this.#messages.get(key.slice(0, key.indexOf("@")));
  }

  /** It goes to a consumer; returns how many deliveries from this queue were spent before. */
  delivered(key: string, queueId: number, batch: number): number {
    const instance = this.#instances.get(key);
    if (instance === undefined) throw new Violation(`${key}: delivered, but not stored`);
    if (instance.end !== null) throw new Violation(`${key}: delivered after ${instance.end.how}`);
    const batches = instance.deliveries.get(queueId) ?? [];
    instance.deliveries.set(queueId, batches);
    return batches.push(batch) - 1;
  }

  /** It has left the node. */
  ended(key: string, batch: number, how: string): void {
    const instance = this.#instances.get(key);
    if (instance === undefined) throw new Violation(`${key}: ${how}, but not stored`);
    if (instance.end !== null) throw new Violation(`${key}: ${how} after ${instance.end.how}`);
    instance.end = { batch, how };
    this.endCounts.set(how, (this.endCounts.get(how) ?? 0) + 1);
  }

  /** A client has rejected it for good, and something it has sent later was answered. */
  rejected(key: string, queueId: number, batch: number): void {
    const instance = this.#instances.get(key);
    if (instance !== undefined) instance.rejected = { queueId, batch };
  }

  // --- restarts

  /** Forgets what belongs to batches behind `lastBatch`, and checks what is left against `state`. */
  restarted(lastBatch: number, state: State): void {
    this.#waiting.length = 0;
    const places = new Map<string, string>();
    for (const { queueId, position, row } of state.rows()) {
      const place = `queue ${queueId} position ${position}`;
      const other = places.get(row.key);
      if (other !== undefined) throw new Violation(`${row.key}: is in ${other} and in ${place}`);
      places.set(row.key, place);
      this.#checkRejected(row, queueId, lastBatch);
    }
    for (const instance of [...this.#instances.values()]) {
      this.#restart(instance, lastBatch, places);
    }
  }

  #checkRejected(row: Row, queueId: number, lastBatch: number): void {
    const rejected = this.#instances.get(row.key)?.rejected ?? null;
    if (rejected === null || rejected.queueId !== queueId || rejected.batch > lastBatch) return;
    if (!isDying(row.state)) throw new Violation(`${row.key}: rejected, and there again`);
  }

  #restart(instance: Instance, lastBatch: number, places: ReadonlyMap<string, string>): void {
    const { key, message, deliveries } = instance;
    const place = places.get(key);
    if (instance.batch > lastBatch) {
      const isPublish = instance.batch === message.batch;
      // What came and went in one batch is confirmed without being written.
      const isOver = instance.end?.batch === instance.batch;
      if (isPublish && message.isConfirmed && !isOver) {
        throw new Violation(`${key}: confirmed, lost`);
      }
      this.#instances.delete(key);
      if (place === undefined) return;
      throw new Violation(`${key}: in ${place} although its batch is lost`);
    }
    for (const [queueId, batches] of deliveries) {
      deliveries.set(queueId, batches.filter((batch) => batch <= lastBatch));
    }
    if (instance.end !== null && instance.end.batch > lastBatch) instance.end = null;
    if (instance.rejected !== null && instance.rejected.batch > lastBatch) instance.rejected = null;
    const isGone = instance.end !== null;
    if (isGone && place !== undefined) {
      throw new Violation(`${key}: in ${place} although it was ${instance.end!.how}`);
    }
    if (!isGone && place === undefined) throw new Violation(`${key}: lost`);
  }
}
