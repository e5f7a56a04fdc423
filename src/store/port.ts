// The store port: where message bytes, ready positions and state entries live. broker/ talks only to
// these interfaces; the memory store implements them here and a file store adds files behind the same
// names (ARCHITECTURE.md "The store"). A store never decides what happens to a message.

import type { DelayedPages } from "./page.ts";

/** Record flag: the publisher asked for persistence (delivery-mode 2). */
export const RECORD_PERSISTENT = 1;
/** Record flag: the publisher's headers hold an `x-delivery-count` of their own. */
export const RECORD_FORGED_COUNT = 2;
/** Record flag: the headers hold `BCC` keys, kept for dead-lettering and never delivered. */
export const RECORD_BCC = 4;

/** Entry bit: the message has been delivered before (`redelivered` on the next delivery). */
export const ENTRY_REDELIVERED = 0x80000000;
/** Entry bit: its last delivery is not among the deliveries spent. */
export const ENTRY_UNSPENT = 0x40000000;
/** Entry mask: deliveries spent so far. */
export const ENTRY_COUNT_MASK = 0x3fffffff;

/** The head of a lane can be delivered now. */
export const HEAD_READY = 1;
/** The lane holds no ready message. */
export const HEAD_EMPTY = 0;
/** The head exists but its bytes are being read; the waiter is told in a later turn. */
export const HEAD_PENDING = 2;

/**
 * One message as the publish path hands it over: ranges into buffers owned by someone else, copied
 * once by {@link Store.append}. The object is reused; nothing may keep it.
 */
export interface MessageSource {
  /** Exchange and routing key as two adjacent AMQP short strings (length octet, bytes). */
  address: Uint8Array;
  addressStart: number;
  addressEnd: number;
  /** Raw content properties: flag words and values, as on the wire after the body size. */
  properties: Uint8Array;
  propertiesStart: number;
  propertiesEnd: number;
  body: Uint8Array;
  bodyStart: number;
  bodyEnd: number;
  /** Bits of `RECORD_*`. */
  flags: number;
  priority: number;
  /** Broker time at which the message arrived, ms. */
  arrivalMs: number;
  /** Absolute broker time at which the message's own `expiration` ends, ms; Infinity without one. */
  expiryMs: number;
}

/** Where a stored record's parts are, filled by {@link Store.open}; valid until the turn ends. */
export interface RecordView {
  bytes: Uint8Array;
  addressStart: number;
  addressEnd: number;
  propertiesStart: number;
  propertiesEnd: number;
  bodyStart: number;
  bodyEnd: number;
  flags: number;
  priority: number;
  arrivalMs: number;
  expiryMs: number;
}

/** Told in a later turn what became of the bytes it asked for. */
export interface ReadWaiter {
  /** They are resident now. */
  readArrived(): void;
  /** They cannot be read. */
  readFailed(error: Error): void;
}

/** Receives each message a lane gives up while it is swept. */
export type EntryVisitor = (ref: number, position: number, entry: number) => void;

/**
 * The ready messages of one priority of one queue, in order of position. Positions only grow:
 * a publish or a return from delay takes the next one, an instant requeue takes its old one back.
 */
export interface ReadyLane {
  readonly messageCount: number;
  /** Appends at the tail and returns the position taken. */
  push(ref: number, entry: number, expiryMs: number): number;
  /** The position that the next push takes; recovery moves it forward before it pushes. */
  nextPosition: number;
  /** Puts a message back at a position it held before. */
  restore(position: number, ref: number, entry: number, expiryMs: number): void;
  /** Loads the head into the `head*` fields; HEAD_READY, HEAD_EMPTY or HEAD_PENDING. */
  head(waiter: ReadWaiter): number;
  headRef: number;
  headPosition: number;
  headEntry: number;
  headExpiryMs: number;
  /** Removes the loaded head. */
  shift(): void;
  /** Earliest expiry of any ready message, ms; may be a lower bound, Infinity when there is none. */
  nextExpiryMs(): number;
  /**
   * Removes at most `max` messages with expiry at or before `nowMs`, wherever they stand. Those that
   * have to be read first are asked for, and the waiter is told in a later turn.
   */
  expire(nowMs: number, max: number, visit: EntryVisitor, waiter: ReadWaiter): number;
  /** Removes everything at once; {@link Store.discard} lets go of it. */
  takeAll(): TakenMessages;
  /** Visits up to `max` messages in order without removing them, as far as they are in memory. */
  peek(max: number, visit: EntryVisitor): void;
}

/** Messages that have left a queue all at once. */
export interface TakenMessages {
  /** How many they were. */
  readonly messageCount: number;
  /** Gives about `max` of those that are in memory to `release`; true when more are left. */
  releaseSome(max: number, release: (ref: number) => void): boolean;
}

/** Why a position left its queue for good. */
export type RemovalCause =
  | "acked"
  | "rejected"
  | "expired"
  | "maxlen"
  | "delivery_limit"
  | "purged"
  | "deleted";

/**
 * State entries of the open batch, each one change of one message or definition; all entries of a
 * batch are safe together or not at all. Only persistent messages on durable queues and durable
 * definitions are entered. An entry says what is true from now on, so reading one twice does no harm.
 */
export interface EntrySink {
  /** The record stands at a new position of the queue, ready. */
  enqueued(queueId: number, position: number, ref: number): void;
  /** It is out for delivery; `entry` is what it was delivered with. */
  delivered(queueId: number, position: number, ref: number, entry: number): void;
  /** It is ready again at its old position. */
  requeued(queueId: number, position: number, ref: number, entry: number): void;
  /** It is held back until `delay.dueMs`. */
  delayed(queueId: number, position: number, ref: number, delay: Delay): void;
  /** It is on its way to the dead-letter exchange; a `removed` follows when it has got there. */
  dying(queueId: number, position: number, ref: number, death: Death): void;
  /** It came back from delay to a new position. */
  returned(queueId: number, position: number, ref: number, newPosition: number): void;
  /** It has left the queue for good; `release` follows. */
  removed(queueId: number, position: number, ref: number, cause: RemovalCause): void;
  /** Everything ready or delayed has left the queue, and not what is out or dying; a `discard` follows. */
  purged(queueId: number): void;
  defined(kind: DefinitionKind, key: string, value: unknown): void;
  undefined(kind: DefinitionKind, key: string): void;
}

/** Why a message goes to the dead-letter exchange. */
export type DeathCause = "rejected" | "expired" | "maxlen" | "delivery_limit";

/** What a `dying` entry says: why, and the deliveries spent. */
export interface Death {
  reason: DeathCause;
  entry: number;
}

/** What a `delayed` entry says: when the delay ends and the deliveries spent. */
export interface Delay {
  dueMs: number;
  entry: number;
  /** Rises with every delay of the node: the order of those that end at the same time. */
  number: number;
}

/**
 * What a definition entry describes; "deleted": a queue that is gone but for dead letters that are still
 * to be published.
 */
export type DefinitionKind = "exchange" | "queue" | "binding" | "deleted";

/** The node's message store. Every method belongs to the current turn; none blocks. */
export interface Store {
  /** Copies a message in and returns its body reference (> 0), held by `holderCount` queues. */
  append(message: MessageSource, holderCount: number): number;
  /** The queue holds the record no longer; the last holder frees it. */
  release(ref: number, queueId: number): void;
  /** Releases what the queue has given up all at once, a bounded piece a turn; says how much it is. */
  discard(taken: TakenMessages, queueId: number): number;
  /** Fills in what is known without the bytes (sizes, flags, times); always answers at once. */
  describe(ref: number, view: RecordView): void;
  /** Points `view` at a record; false when its bytes are not resident (then `request` them). */
  open(ref: number, view: RecordView): boolean;
  /** Asks for the bytes of a record; the waiter is told in a later turn. */
  request(ref: number, waiter: ReadWaiter): void;
  /** The same for the loaded head of a lane; what stands behind it may be read along. */
  requestHead(lane: ReadyLane, waiter: ReadWaiter): void;
  /** Makes the ready index of one priority of a queue; an empty one owns no buffer. */
  openLane(queueId: number, lane: number): ReadyLane;
  /** The queue is gone: its lanes are empty and get nothing any more. */
  closeLanes(queueId: number): void;
  /** Where delayed messages may go that are not needed soon; null when everything stays in memory. */
  readonly delayedPages: DelayedPages | null;
  /** State entries of the open batch; null when the store keeps none. */
  readonly entries: EntrySink | null;
  /** Number of the batch that entries made now will belong to. */
  readonly openBatch: number;
  /** Whether the open batch holds nothing so far. */
  readonly isBatchEmpty: boolean;
  /** Bytes of the open batch. */
  readonly openBatchBytes: number;
  /** Somebody waits for the open batch: it is to be safe soon. */
  wantSync(): void;
  /** Ends the turn's batch at broker time `nowMs`. */
  commit(nowMs: number): void;
  /** Every batch up to and including this number is decided: safe, unless it has failed. */
  readonly safeBatch: number;
  /**
   * Every batch up to and including this number is on the disk. Unlike a decided batch, one that has
   * failed does not count before it has got there all the same.
   */
  readonly storedBatch: number;
  /** The last batch that holds a change of definitions; 0 when none has. */
  readonly definitionBatch: number;
  /** The last batch that takes a definition back; 0 when none has. */
  readonly undefinitionBatch: number;
  /** Whether a decided batch failed: what it held must be refused to its publishers. */
  isFailed(batch: number): boolean;
  /** Persistent messages cannot be kept at the moment; publishes of them have to be refused. */
  readonly isReadOnly: boolean;
  /** The disk is nearly full: publishers are to be blocked until there is room. */
  readonly isDiskLow: boolean;
  /** Whoever runs turns; told that a sync or a read has finished and a turn should follow. */
  onWake: () => void;
  /** Does a bounded piece of housekeeping; true when more can be done at once. */
  maintain(nowMs: number): boolean;
  /** Bytes of memory held for messages: arenas, tables, lanes, and what is not on the disk yet. */
  readonly memoryBytes: number;
  /**
   * Bytes of it that messages need: publishers wait for these to become fewer, so whatever counts here
   * goes with the message, or can be written to the disk. Room that is held for others is no part of it.
   */
  readonly usedBytes: number;
  /** Bytes of live records. */
  readonly liveBytes: number;
  readonly liveMessageCount: number;
}
