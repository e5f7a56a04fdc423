// The history of a dead-lettered message in its headers: `x-death`, newest first, with one entry per
// queue and reason, and the headers for the first and last death. Dead-lettering calls it; it is pure
// and only makes new headers. Fields and their meaning are those of RabbitMQ 3.13. Entries keep the
// bytes in which they arrived, except for the fields that change.

import { decodeFieldValue, writeFieldValue } from "../../amqp/field_table.ts";
import type { FieldTable, FieldValue, WholeNumber } from "../../amqp/field_value.ts";
import { integerOf, longField, textField, textOf, timestampField } from "../../amqp/field_value.ts";
import type { RawProperties } from "../../amqp/raw_properties.ts";
import { skipFieldValue, tableKey } from "../../amqp/raw_table.ts";
import { rewriteTable } from "../../amqp/rewrite_table.ts";
import { ByteWriter } from "../../lib/byte_writer.ts";
import { copyOfRange } from "../../lib/bytes.ts";
import type { DeathCause } from "../../store/port.ts";

/** A new death of a message. */
export interface Death {
  readonly reason: DeathCause;
  /** The queue in which the message died. */
  readonly queue: string;
  /** The exchange that the message was published to. */
  readonly exchange: string;
  /** The message's routing key and the keys of its `CC` header, but never those of `BCC`. */
  readonly routingKeys: readonly string[];
  readonly timeSeconds: number;
  /** The message's `expiration`, if it had one. */
  readonly originalExpiration: string | null;
}

const X_DEATH = "x-death";
const FIRST = ["x-first-death-queue", "x-first-death-reason", "x-first-death-exchange"] as const;
const LAST = ["x-last-death-queue", "x-last-death-reason", "x-last-death-exchange"] as const;

// A death by a decision of a consumer means that the loop is intended.
const BREAKS_CYCLE: ReadonlySet<string> = new Set<DeathCause>(["rejected", "delivery_limit"]);

// Bytes of the type tag and the length of a table or an array.
const PREFIX_BYTES = 5;
const X_DEATH_KEY = tableKey(X_DEATH);

type TableField = Extract<FieldValue, { readonly tag: "F" }>;

/** One well-formed entry of `x-death`. */
interface Recorded {
  readonly queue: string;
  readonly reason: string;
  readonly count: WholeNumber;
  readonly field: TableField;
}

/** Returns the headers of a message, null if it has none. Entries of `x-death` keep their bytes. */
export function headersWithDeaths(properties: RawProperties): FieldTable | null {
  const headers = properties.headers() ?? null;
  if (headers?.get(X_DEATH)?.tag !== "A") return headers;
  properties.findHeader(X_DEATH_KEY);
  const { bytes, valueEnd } = properties;
  const entries: FieldValue[] = [];
  for (let at = properties.valueStart + PREFIX_BYTES; at < valueEnd;) {
    const next = skipFieldValue(bytes, at, valueEnd);
    const entry = decodeFieldValue(bytes, at, next);
    const isTable = entry.tag === "F";
    entries.push(
      isTable ? { ...entry, bytes: copyOfRange(bytes, at + PREFIX_BYTES, next) } : entry,
    );
    at = next;
  }
  return new Map(headers).set(X_DEATH, { tag: "A", value: entries });
}

function withFields(field: TableField, set: FieldTable): TableField {
  const value = new Map([...field.value, ...set]);
  if (field.bytes === undefined) return { tag: "F", value };
  return { tag: "F", value, bytes: rewriteTable(field.bytes, set) };
}

function recordedOf(item: FieldValue): Recorded | null {
  if (item.tag !== "F") return null;
  const field = withTimestamp(item);
  const table = field.value;
  const queue = textOf(table.get("queue"));
  const reason = textOf(table.get("reason"));
  const count = integerOf(table.get("count"));
  if (queue === undefined || reason === undefined || count === undefined || count < 1) return null;
  if (textOf(table.get("exchange")) === undefined) return null;
  if (table.get("routing-keys")?.tag !== "A" || table.get("time")?.tag !== "T") return null;
  return { queue, reason, count, field };
}

// Libraries that read timestamps as plain numbers write them back as integers. The history of a message
// that a consumer republishes with such a library is kept.
function withTimestamp(field: TableField): TableField {
  const seconds = integerOf(field.value.get("time"));
  if (seconds === undefined) return field;
  return withFields(field, new Map([["time", timestampField(seconds)]]));
}

// A publisher may have put anything into `x-death`. Items that are not valid entries are left out.
function recordedDeaths(headers: FieldTable | null): Recorded[] {
  const field = headers?.get(X_DEATH);
  if (field?.tag !== "A") return [];
  const deaths: Recorded[] = [];
  for (const item of field.value) {
    const recorded = recordedOf(item);
    if (recorded !== null) deaths.push(recorded);
  }
  return deaths;
}

function firstEntry(death: Death): TableField {
  const entry = new Map<string, FieldValue>();
  if (death.originalExpiration !== null) {
    entry.set("original-expiration", textField(death.originalExpiration));
  }
  entry.set("count", longField(1));
  entry.set("reason", textField(death.reason));
  entry.set("queue", textField(death.queue));
  entry.set("time", timestampField(death.timeSeconds));
  entry.set("exchange", textField(death.exchange));
  entry.set("routing-keys", { tag: "A", value: death.routingKeys.map(textField) });
  return { tag: "F", value: entry };
}

// As in RabbitMQ, all fields except the count stay as they were at the first such death.
function repeatedEntry({ count, field }: Recorded): TableField {
  const isCountable = typeof count === "number" && count < Number.MAX_SAFE_INTEGER;
  return withFields(field, new Map([["count", longField(isCountable ? count + 1 : count)]]));
}

function isSameDeath(recorded: Recorded, death: Death): boolean {
  return recorded.queue === death.queue && recorded.reason === death.reason;
}

function setDeath(
  headers: Map<string, FieldValue>,
  names: typeof FIRST | typeof LAST,
  death: Death,
): void {
  headers.set(names[0], textField(death.queue));
  headers.set(names[1], textField(death.reason));
  headers.set(names[2], textField(death.exchange));
}

/** Returns the headers of a message after one more death. */
export function recordDeath(headers: FieldTable | null, death: Death): FieldTable {
  const earlier = recordedDeaths(headers);
  const repeated = earlier.find((recorded) => isSameDeath(recorded, death));
  const others = earlier.filter((recorded) => !isSameDeath(recorded, death));
  const newest = repeated === undefined ? firstEntry(death) : repeatedEntry(repeated);
  const entries: FieldValue[] = [newest, ...others.map(({ field }) => field)];
  const updated = new Map(headers ?? []);
  updated.set(X_DEATH, { tag: "A", value: entries });
  // A message without `x-death` has not died before, whatever other headers its publisher has set.
  const isKnown = earlier.length > 0 && FIRST.every((name) => updated.has(name));
  if (!isKnown) setDeath(updated, FIRST, death);
  setDeath(updated, LAST, death);
  return updated;
}

/** Returns the headers of `after` that differ from `before`, which must be written anew. */
export function changedHeaders(before: FieldTable | null, after: FieldTable): FieldTable {
  return new Map([...after].filter(([key, value]) => before?.get(key) !== value));
}

/**
 * Returns the headers without the oldest deaths, so that they are at least `excessBytes` smaller. The
 * newest death stays; if it is too large by itself, it loses the routing keys that came from `CC`.
 */
export function withoutOldestDeaths(headers: FieldTable, excessBytes: number): FieldTable {
  const field = headers.get(X_DEATH);
  if (field?.tag !== "A") return headers;
  const entries = [...field.value];
  let excess = excessBytes;
  while (excess > 0 && entries.length > 1) excess -= fieldBytes(entries.pop()!);
  if (excess > 0 && entries.length > 0) entries[0] = withOneKey(entries[0]!);
  return new Map(headers).set(X_DEATH, { tag: "A", value: entries });
}

function fieldBytes(field: FieldValue): number {
  const out = new ByteWriter();
  writeFieldValue(out, field);
  return out.byteCount;
}

function withOneKey(entry: FieldValue): FieldValue {
  if (entry.tag !== "F") return entry;
  const keys = entry.value.get("routing-keys");
  if (keys?.tag !== "A") return entry;
  return withFields(
    entry,
    new Map([["routing-keys", { tag: "A", value: keys.value.slice(0, 1) }]]),
  );
}

/**
 * The queues to which a delivery would close a loop that no consumer has asked for: the message
 * died there before, and since then no consumer rejected it or used up its deliveries.
 * @param headers the headers after the present death was recorded
 */
export function cycleQueues(headers: FieldTable): ReadonlySet<string> {
  const queues = new Set<string>();
  for (const { queue, reason } of recordedDeaths(headers)) {
    if (BREAKS_CYCLE.has(reason)) break;
    queues.add(queue);
  }
  return queues;
}
