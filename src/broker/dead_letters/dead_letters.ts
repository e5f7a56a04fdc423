// Dead-lettering: publishes messages that a queue has given up to its dead-letter exchange, with
// their death recorded in the headers (x_death.ts). Letters are queued and published in the dispatch
// of a turn, never recursively: chains and loops of any length use a loop, not the stack. Storing in
// the targets and removing from the source are in the same batch. A dead letter that is not published
// in the turn that decided it is entered as dying, so that recovery finds it (docs/storage.md).

import { CONTENT_HEADER_FIXED_BYTES } from "../../amqp/content_header.ts";
import {
  BCC_KEY,
  CC_KEY,
  DELIVERY_COUNT_HEADER,
  DELIVERY_COUNT_KEY,
} from "../../amqp/header_keys.ts";
import { PROPERTY_EXPIRATION } from "../../amqp/properties.ts";
import type { FieldTable } from "../../amqp/field_value.ts";
import { longField } from "../../amqp/field_value.ts";
import { RawProperties } from "../../amqp/raw_properties.ts";
import { rewriteProperties } from "../../amqp/rewrite_properties.ts";
import { ByteWriter } from "../../lib/byte_writer.ts";
import { decodeText } from "../../lib/text.ts";
import {
  type DeathCause,
  ENTRY_COUNT_MASK,
  ENTRY_UNSPENT,
  type MessageSource,
  RECORD_BCC,
  RECORD_FORGED_COUNT,
  RECORD_PERSISTENT,
  type RecordView,
} from "../../store/port.ts";
import { emptySource, emptyView } from "../../store/views.ts";
import type { TopologyBroker } from "../topology/home.ts";
import { undefineDeleted } from "../topology/definitions.ts";
import { extraKeysOf, keysUnder } from "../routing/extra_keys.ts";
import {
  type DeadLetter,
  type DeadLetterDesk,
  LETTER_DONE,
  LETTER_ENTERED,
  LETTER_FRESH,
} from "../queue/dead_letter.ts";
import { deadLetterHeaderBytesMax } from "../queue/header_size.ts";
import type { Queue } from "../queue/queue.ts";
import { RouteResult } from "../routing/route.ts";
import { type LetterReads, SourceLetters } from "./source_letters.ts";
import {
  changedHeaders,
  cycleQueues,
  headersWithDeaths,
  recordDeath,
  withoutOldestDeaths,
} from "./x_death.ts";

// Headers that the new table may lack. All other headers of the old table are in the new one too.
const REPLACED_HEADERS = [
  { name: "CC", key: CC_KEY },
  { name: "BCC", key: BCC_KEY },
  { name: DELIVERY_COUNT_HEADER, key: DELIVERY_COUNT_KEY },
];
// The queues take turns; each may cost this much per turn.
const COST_PER_QUEUE = 16;
// This many bytes of a body cost as much as one publish with its headers written anew.
const BODY_BYTES_PER_COST = 65_536;
// This many bytes of properties do as well: the history of deaths in them is read and written anew.
const PROPERTY_BYTES_PER_COST = 128;
// And so do this many queues that take the message.
const QUEUES_PER_COST = 16;

/** Dead letters of one node: queues take turns, and those of one queue keep their order. */
export class DeadLetters implements DeadLetterDesk, LetterReads {
  readonly #broker: TopologyBroker;
  readonly #bySource = new Map<Queue, SourceLetters>();
  /** Queues whose oldest letter can be published, as far as is known. The first of the set is next. */
  readonly #ready = new Set<SourceLetters>();
  /** Letters decided since the last call of `enter`; some may be published already. */
  #fresh: DeadLetter[] = [];
  readonly #view: RecordView = emptyView();
  readonly #properties = new RawProperties();
  readonly #route = new RouteResult();
  readonly #refusers: Queue[] = [];
  readonly #source: MessageSource = emptySource();
  readonly #out = new ByteWriter();
  /** Number of letters that wait, those that must be read first included. */
  backlog = 0;
  /** Those of them whose queue is transient: no start of the node finds them. */
  transientBacklog = 0;

  constructor(broker: TopologyBroker) {
    this.#broker = broker;
  }

  /** Whether a letter can be published now. */
  get hasWork(): boolean {
    return this.#ready.size > 0;
  }

  /** Whether this turn has decided letters that the open batch does not name yet. */
  get hasFresh(): boolean {
    return this.#fresh.length > 0;
  }

  /** Adds a message that a queue has given up. */
  add(letter: DeadLetter): void {
    this.#fresh.push(letter);
    this.#append(letter);
  }

  /** Adds a letter that was on its way before the node started. */
  restore(letter: DeadLetter): void {
    this.#append(letter);
  }

  #append(letter: DeadLetter): void {
    const { queue } = letter;
    let letters = this.#bySource.get(queue);
    if (letters === undefined) {
      letters = new SourceLetters(this.#broker.store, this);
      this.#bySource.set(queue, letters);
      this.#ready.add(letters);
    }
    letters.push(letter);
    queue.dyingCount++;
    this.backlog++;
    if (!queue.durable) this.transientBacklog++;
  }

  /**
   * Publishes dead letters for a cost of about `max` and returns the cost: 1 for each, more for large
   * ones.
   */
  run(max: number): number {
    let cost = 0;
    while (cost < max) {
      const { value: letters } = this.#ready.values().next();
      if (letters === undefined) break;
      this.#ready.delete(letters);
      cost += this.#runSome(letters, Math.min(COST_PER_QUEUE, max - cost));
    }
    return cost;
  }

  #runSome(letters: SourceLetters, max: number): number {
    const { store } = this.#broker;
    let cost = 0;
    while (cost < max && letters.count > 0) {
      const letter = letters.first;
      if (!store.open(letter.ref, this.#view)) {
        // The read adds these letters to the ready ones when it ends, which may be at once.
        letters.read();
        return cost;
      }
      const { bodyStart, bodyEnd, propertiesStart, propertiesEnd } = this.#view;
      cost += 1 + (bodyEnd - bodyStart) / BODY_BYTES_PER_COST +
        (propertiesEnd - propertiesStart) / PROPERTY_BYTES_PER_COST;
      cost += this.#publish(letter) / QUEUES_PER_COST;
      this.#finish(letters, letter);
    }
    if (letters.count > 0) this.#ready.add(letters);
    return cost;
  }

  /**
   * Enters every letter that is decided and not published into the open batch, before it is written.
   * A client may be told that its message is settled before the dead letter is published.
   */
  enter(): void {
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    this.#fresh = [];
    for (const letter of fresh) {
      if (letter.state === LETTER_FRESH) this.#enter(letter);
    }
  }

  #enter(letter: DeadLetter): void {
    letter.state = LETTER_ENTERED;
    const { queue, ref } = letter;
    this.#broker.store.describe(ref, this.#view);
    const entries = queue.entriesFor(this.#view.flags);
    if (entries === null) return;
    if (letter.position < 0) {
      // The queue refused the message, so it has no position yet; entries need one to name it.
      letter.position = queue.ready.lane.nextPosition++;
      entries.enqueued(queue.id, letter.position, ref);
    }
    entries.dying(queue.id, letter.position, ref, letter);
  }

  /** See {@linkcode LetterReads}. */
  firstArrived(letters: SourceLetters): void {
    this.#ready.add(letters);
  }

  /** See {@linkcode LetterReads}: the letter cannot be published and is dropped. */
  firstFailed(letters: SourceLetters, error: Error): void {
    const letter = letters.first;
    this.#broker.metrics.deadLettersDropped++;
    const fields = { queue: letter.queue.name, error: error.message };
    this.#broker.logger.log("error", "dead letter is lost: it cannot be read", fields);
    this.#finish(letters, letter);
    if (letters.count > 0) this.#ready.add(letters);
  }

  #finish(letters: SourceLetters, letter: DeadLetter): void {
    const { queue } = letter;
    letters.shift();
    letter.state = LETTER_DONE;
    this.backlog--;
    if (!queue.durable) this.transientBacklog--;
    queue.dyingCount--;
    this.#leave(letter);
    if (queue.dyingCount > 0) return;
    this.#bySource.delete(queue);
    if (queue.isDeleted) undefineDeleted(this.#broker.store, queue.vhost.name, queue);
  }

  #leave(letter: DeadLetter): void {
    const { store } = this.#broker;
    if (letter.position >= 0) {
      store.describe(letter.ref, this.#view);
      const entries = letter.queue.entriesFor(this.#view.flags);
      entries?.removed(letter.queue.id, letter.position, letter.ref, letter.reason);
    }
    store.release(letter.ref, letter.queue.id);
    count(this.#broker, letter.reason);
  }

  // Says how many queues have been asked to take it.
  #publish(letter: DeadLetter): number {
    const { queue } = letter;
    const { metrics, vhosts } = this.#broker;
    const vhost = vhosts.get(queue.vhost.name);
    const exchange = vhost?.exchanges.get(queue.args.deadLetterExchange!);
    if (vhost === undefined || exchange === undefined) {
      metrics.deadLettersDropped++;
      return 0;
    }
    const view = this.#view;
    const properties = this.#properties;
    properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
    const address = readAddress(view);
    const headers = headersWithDeaths(properties);
    const newKey = queue.args.deadLetterRoutingKey;
    const newHeaders = this.#headersAfter(letter, headers, address);
    const result = this.#route;
    result.reset();
    vhost.route(exchange, {
      routingKey: newKey ?? address.routingKey,
      extraKeys: newKey === null ? extraKeysOf(headers) : null,
      headers: () => newHeaders,
    }, result);
    if (result.count === 0) metrics.deadLettersDropped++;
    const takerCount = this.#keepTakers(result, newHeaders, view.bodyEnd - view.bodyStart);
    if (takerCount + this.#refusers.length === 0) return result.count;
    // Making room in a target may have delivered or moved messages, so the view is opened again.
    this.#broker.store.open(letter.ref, view);
    properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
    const routingKey = newKey ?? address.routingKey;
    this.#fillSource(letter, routingKey, { before: headers, after: newHeaders });
    this.#store(result, takerCount);
    return result.count;
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

  // Leaves the queues that take the message in `result` and returns their number. A full queue that
  // passes the message on to its own dead-letter exchange goes to the list of refusers.
  #keepTakers(result: RouteResult, headers: FieldTable, bodyBytes: number): number {
    let kept = 0;
    this.#refusers.length = 0;
    // Once for all targets: either may be many.
    const closed = cycleQueues(headers);
    for (let index = 0; index < result.count; index++) {
      const target = result.queues[index]!;
      if (closed.has(target.name)) this.#broker.metrics.deadLettersDropped++;
      else if (target.ready.admits(bodyBytes)) result.queues[kept++] = target;
      else if (passesOn(target)) this.#refusers.push(target);
      else this.#broker.metrics.deadLettersDropped++;
    }
    return kept;
  }

  #fillSource(
    letter: DeadLetter,
    routingKey: string,
    headers: { before: FieldTable | null; after: FieldTable },
  ): void {
    const view = this.#view;
    const source = this.#source;
    const out = this.#out;
    out.reset();
    out.shortString(letter.queue.args.deadLetterExchange!);
    out.shortString(routingKey);
    const propertiesStart = out.byteCount;
    this.#writeProperties(headers.before, headers.after);
    const headerBytes = CONTENT_HEADER_FIXED_BYTES + out.byteCount - propertiesStart;
    const excessBytes = headerBytes - deadLetterHeaderBytesMax(this.#broker.limits);
    if (excessBytes > 0) {
      out.truncate(propertiesStart);
      this.#writeProperties(headers.before, withoutOldestDeaths(headers.after, excessBytes));
    }
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
      (headers.after.has(DELIVERY_COUNT_HEADER) ? RECORD_FORGED_COUNT : 0) |
      (headers.after.has("BCC") ? RECORD_BCC : 0);
    source.priority = view.priority;
    source.arrivalMs = this.#broker.nowMs;
    source.expiryMs = Infinity;
  }

  // Headers that the broker does not change are copied as bytes.
  #writeProperties(before: FieldTable | null, after: FieldTable): void {
    rewriteProperties(this.#out, this.#properties, {
      setHeaders: changedHeaders(before, after),
      removeHeaders: REPLACED_HEADERS.filter(({ name }) => !after.has(name)).map(({ key }) => key),
      dropFlags: PROPERTY_EXPIRATION,
    });
  }

  #store(result: RouteResult, takerCount: number): void {
    const source = this.#source;
    const refusers = this.#refusers;
    const ref = this.#broker.store.append(source, takerCount + refusers.length);
    const bodyBytes = source.bodyEnd - source.bodyStart;
    const { flags } = source;
    for (let index = 0; index < takerCount; index++) {
      result.queues[index]!.ready.accept(ref, bodyBytes, Infinity, flags);
    }
    // These letters go to the end of the list. They are published in this turn, or entered in its
    // batch and published later.
    for (const refuser of refusers) refuser.deadLetter(ref, -1, 0, "maxlen");
  }
}

// Whether the queue dead-letters a message for which it has no room.
function passesOn({ args }: Queue): boolean {
  return args.overflow === "reject-publish-dlx" && args.deadLetterExchange !== null;
}

function readAddress(view: RecordView): { exchange: string; routingKey: string } {
  const { bytes, addressStart } = view;
  const exchangeEnd = addressStart + 1 + bytes[addressStart]!;
  return {
    exchange: decodeText(bytes, addressStart + 1, exchangeEnd),
    routingKey: decodeText(bytes, exchangeEnd + 1, exchangeEnd + 1 + bytes[exchangeEnd]!),
  };
}

function count(broker: TopologyBroker, reason: DeathCause): void {
  const { metrics } = broker;
  if (reason === "rejected") metrics.deadLetteredRejected++;
  else if (reason === "expired") metrics.deadLetteredExpired++;
  else if (reason === "maxlen") metrics.deadLetteredMaxlen++;
  else metrics.deadLetteredDeliveryLimit++;
}
