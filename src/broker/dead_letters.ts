// Dead-lettering: messages that their queue gave up are published to its dead-letter exchange, with
// their death recorded in the headers (x_death.ts). Work is queued and done in the dispatch of a turn,
// never recursively: chains and loops of any length cost a loop, not a stack.
// Storing in the targets and removing from the source fall into the same batch.

import { PROPERTY_EXPIRATION } from "../amqp/properties.ts";
import type { FieldTable } from "../amqp/field_value.ts";
import { longField } from "../amqp/field_value.ts";
import { RawProperties } from "../amqp/raw_properties.ts";
import { tableKey } from "../amqp/raw_table.ts";
import { rewriteProperties } from "../amqp/rewrite_properties.ts";
import { ByteWriter } from "../lib/byte_writer.ts";
import { decodeText } from "../lib/text.ts";
import {
  ENTRY_COUNT_MASK,
  ENTRY_UNSPENT,
  type MessageSource,
  type ReadWaiter,
  RECORD_BCC,
  RECORD_FORGED_COUNT,
  RECORD_PERSISTENT,
  type RecordView,
} from "../store/port.ts";
import { emptySource, emptyView } from "../store/views.ts";
import type { Broker } from "./broker.ts";
import { extraKeysOf, keysUnder } from "./extra_keys.ts";
import type { Queue } from "./queue.ts";
import { RouteResult } from "./route.ts";
import { isCycle, recordDeath } from "./x_death.ts";

/** Why a message is dead, as `x-death` says it. */
export type DeadLetterReason = "rejected" | "expired" | "maxlen" | "delivery_limit";

/** A message on its way to a dead-letter exchange. */
export interface DeadLetter {
  queue: Queue;
  ref: number;
  /** Position in the queue; -1 when the message was refused and never stood in it. */
  position: number;
  /** As the message waited; with ENTRY_UNSPENT if it was out, since that delivery is not counted. */
  entry: number;
  reason: DeadLetterReason;
}

const DELIVERY_COUNT_HEADER = "x-delivery-count";
// Headers that the new table may have lost; everything else in the old one is in the new one too.
const REPLACED_HEADERS = ["CC", "BCC", DELIVERY_COUNT_HEADER].map(tableKey);

/** Dead letters of one node, first come first served. */
export class DeadLetters implements ReadWaiter {
  readonly #broker: Broker;
  #letters: DeadLetter[] = [];
  #next = 0;
  #isWaiting = false;
  readonly #view: RecordView = emptyView();
  readonly #properties = new RawProperties();
  readonly #route = new RouteResult();
  readonly #source: MessageSource = emptySource();
  readonly #out = new ByteWriter();

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** How many wait. */
  get count(): number {
    return this.#isWaiting ? 0 : this.#letters.length - this.#next;
  }

  /** The same, with those that cannot be published before one has been read. */
  get backlog(): number {
    return this.#letters.length - this.#next;
  }

  add(letter: DeadLetter): void {
    this.#letters.push(letter);
  }

  /** Publishes at most `max` dead letters and says how many. */
  run(max: number): number {
    let done = 0;
    while (done < max && this.count > 0) {
      const letter = this.#letters[this.#next]!;
      if (!this.#broker.store.open(letter.ref, this.#view)) {
        this.#isWaiting = true;
        this.#broker.store.request(letter.ref, this);
        break;
      }
      this.#next++;
      this.#publish(letter);
      this.#finish(letter);
      done++;
    }
    if (this.#next === this.#letters.length) {
      this.#letters.length = 0;
      this.#next = 0;
    } else if (this.#next > 65_536) {
      this.#letters = this.#letters.slice(this.#next);
      this.#next = 0;
    }
    return done;
  }

  /** Told by the store that the oldest dead letter can be read. */
  readArrived(): void {
    this.#isWaiting = false;
  }

  /** Told by the store that the oldest dead letter cannot be read: there is nothing left to publish. */
  readFailed(error: Error): void {
    this.#isWaiting = false;
    const letter = this.#letters[this.#next++]!;
    this.#broker.metrics.deadLettersDropped++;
    const fields = { queue: letter.queue.name, error: error.message };
    this.#broker.logger.log("error", "dead letter is lost: it cannot be read", fields);
    this.#finish(letter);
  }

  #finish(letter: DeadLetter): void {
    const { store } = this.#broker;
    if (letter.position >= 0 && !letter.queue.isDeleted) {
      store.describe(letter.ref, this.#view);
      const entries = letter.queue.entriesFor(this.#view);
      entries?.removed(letter.queue.id, letter.position, letter.ref, letter.reason);
    }
    store.release(letter.ref, letter.queue.id);
    count(this.#broker, letter.reason);
  }

  #publish(letter: DeadLetter): void {
    const { queue } = letter;
    const { metrics } = this.#broker;
    const exchange = queue.vhost.exchanges.get(queue.args.deadLetterExchange!);
    if (exchange === undefined) {
      metrics.deadLettersDropped++;
      return;
    }
    const view = this.#view;
    const properties = this.#properties;
    properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
    const address = readAddress(view);
    const headers = properties.headers() ?? null;
    const newKey = queue.args.deadLetterRoutingKey;
    const newHeaders = this.#headersAfter(letter, headers, address);
    const result = this.#route;
    result.reset();
    queue.vhost.route(exchange, {
      routingKey: newKey ?? address.routingKey,
      extraKeys: newKey === null ? extraKeysOf(headers) : null,
      headers: () => newHeaders,
    }, result);
    if (result.count === 0) metrics.deadLettersDropped++;
    const targetCount = this.#keepTakers(result, newHeaders, view.bodyEnd - view.bodyStart);
    if (targetCount === 0) return;
    // Making room in a target may have delivered or moved messages; look at the bytes anew.
    this.#broker.store.open(letter.ref, view);
    properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
    this.#fillSource(letter, newHeaders, newKey ?? address.routingKey);
    this.#store(result, targetCount);
  }

  #headersAfter(
    letter: DeadLetter,
    headers: FieldTable | null,
    address: { exchange: string; routingKey: string },
  ): FieldTable {
    const { queue, reason, entry } = letter;
    const originalExpiration = this.#properties.text(PROPERTY_EXPIRATION) ?? null;
    const died = recordDeath(headers, {
      reason,
      queue: queue.name,
      exchange: address.exchange,
      routingKeys: [address.routingKey, ...keysUnder(headers, "CC")],
      timeSeconds: Math.floor(this.#broker.nowMs / 1000),
      originalExpiration,
    });
    const result = new Map(died);
    if (queue.args.deadLetterRoutingKey !== null) {
      result.delete("CC");
      result.delete("BCC");
    }
    if (!queue.keepsCount) return result;
    const spent = entry & ENTRY_COUNT_MASK;
    const lastDelivered = (entry & ENTRY_UNSPENT) === 0 ? spent - 1 : spent;
    if (lastDelivered > 0) result.set(DELIVERY_COUNT_HEADER, longField(lastDelivered));
    else result.delete(DELIVERY_COUNT_HEADER);
    return result;
  }

  // Leaves in `result` the queues that take the message and says how many they are.
  #keepTakers(result: RouteResult, headers: FieldTable, bodyBytes: number): number {
    let kept = 0;
    for (let index = 0; index < result.count; index++) {
      const target = result.queues[index]!;
      if (isCycle(headers, target.name) || !target.admits(bodyBytes)) {
        this.#broker.metrics.deadLettersDropped++;
        continue;
      }
      result.queues[kept++] = target;
    }
    return kept;
  }

  #fillSource(letter: DeadLetter, headers: FieldTable, routingKey: string): void {
    const view = this.#view;
    const source = this.#source;
    const out = this.#out;
    out.reset();
    out.shortString(letter.queue.args.deadLetterExchange!);
    out.shortString(routingKey);
    const propertiesStart = out.byteCount;
    rewriteProperties(out, this.#properties, {
      setHeaders: headers,
      removeHeaders: REPLACED_HEADERS,
      dropFlags: PROPERTY_EXPIRATION,
    });
    source.address = out.bytes;
    source.addressStart = 0;
    source.addressEnd = propertiesStart;
    source.properties = out.bytes;
    source.propertiesStart = propertiesStart;
    source.propertiesEnd = out.byteCount;
    source.body = view.bytes;
    source.bodyStart = view.bodyStart;
    source.bodyEnd = view.bodyEnd;
    source.flags = (view.flags & RECORD_PERSISTENT) |
      (headers.has(DELIVERY_COUNT_HEADER) ? RECORD_FORGED_COUNT : 0) |
      (headers.has("BCC") ? RECORD_BCC : 0);
    source.priority = view.priority;
    source.arrivalMs = this.#broker.nowMs;
    source.expiryMs = Infinity;
  }

  #store(result: RouteResult, targetCount: number): void {
    const source = this.#source;
    const ref = this.#broker.store.append(source, targetCount);
    const bodyBytes = source.bodyEnd - source.bodyStart;
    const { flags } = source;
    for (let index = 0; index < targetCount; index++) {
      result.queues[index]!.accept(ref, bodyBytes, Infinity, flags);
    }
  }
}

function readAddress(view: RecordView): { exchange: string; routingKey: string } {
  const { bytes, addressStart } = view;
  const exchangeEnd = addressStart + 1 + bytes[addressStart]!;
  return {
    exchange: decodeText(bytes, addressStart + 1, exchangeEnd),
    routingKey: decodeText(bytes, exchangeEnd + 1, exchangeEnd + 1 + bytes[exchangeEnd]!),
  };
}

function count(broker: Broker, reason: DeadLetterReason): void {
  const { metrics } = broker;
  if (reason === "rejected") metrics.deadLetteredRejected++;
  else if (reason === "expired") metrics.deadLetteredExpired++;
  else if (reason === "maxlen") metrics.deadLetteredMaxlen++;
  else metrics.deadLetteredDeliveryLimit++;
}
