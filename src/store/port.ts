// The store port: where message bytes, ready positions and state entries live. broker/ talks only
// to these interfaces. The memory store implements them here, and a file store implements them with
// files (ARCHITECTURE.md "The store"). A store never decides what happens to a message.

import type { DelayedPages, PageOwner, PagePlace } from "./page.ts";
import type { ReadWaiter } from "./read_waiter.ts";

export type { ReadWaiter } from "./read_waiter.ts";

/** Record flag: the publisher asked for persistence (delivery-mode 2). */
export const RECORD_PERSISTENT = 1;
/** Record flag: the publisher's headers hold an `x-delivery-count` of their own. */
export const RECORD_FORGED_COUNT = 2;
/** Record flag: the headers hold `BCC` keys, kept for dead-lettering and never delivered. */
export const RECORD_BCC = 4;

/** Entry bit: the message has been delivered before (`redelivered` on the next delivery). */
export const ENTRY_REDELIVERED = 0x80000000;
/** Entry bit: the last delivery of the message is not among the deliveries spent. */
export const ENTRY_UNSPENT = 0x40000000;
/** Entry mask: deliveries spent so far. */
export const ENTRY_COUNT_MASK = 0x3fffffff;

/** The head of a lane can be delivered now. */
export const HEAD_READY = 1;
/** The lane holds no ready message. */
export const HEAD_EMPTY = 0;
/** The head exists but its bytes are being read. The waiter is told in a later turn. */
export const HEAD_PENDING = 2;

/**
 * One message as the publish path hands it over: ranges in buffers that others own, copied once by
 * {@link Store.append}. The object is reused, so no code may keep it.
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

/** The parts of a stored record, filled in by {@link Store.open}; valid until the turn ends. */
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

/** Receives each message that a lane gives up or shows. */
export type EntryVisitor = (ref: number, position: number, entry: number) => void;

/**
 * The ready messages of one priority of one queue, in order of position. Positions only grow: a
 * publish or a return from delay takes the next position, an instant requeue takes the old position
 * of its message back.
 */
export interface ReadyLane {
  readonly messageCount: number;
  /** Appends at the tail and returns the position taken. */
  push(ref: number, entry: number, expiryMs: number): number;
  /** The position that the next push takes. Recovery moves it forward before it pushes. */
  nextPosition: number;
  /** Puts a message back at a position it held before. */
  restore(position: number, ref: number, entry: number, expiryMs: number): void;
  /** Loads the head into the `head*` fields. Returns HEAD_READY, HEAD_EMPTY or HEAD_PENDING. */
  head(waiter: ReadWaiter): number;
  headRef: number;
  headPosition: number;
  headEntry: number;
  headExpiryMs: number;
  /** Removes the loaded head. */
  shift(): void;
  /**
   * Earliest expiry of any ready message, ms. It may be a lower bound; Infinity when no message
   * expires.
   */
  nextExpiryMs(): number;
  /**
   * Removes at most `max` messages with expiry at or before `nowMs`, wherever they stand. Messages
   * that must be read first are asked for, and the waiter is told in a later turn.
   */
  expire(nowMs: number, max: number, visit: EntryVisitor, waiter: ReadWaiter): number;
  /** Removes everything at once. {@link Store.discard} releases the records. */
  takeAll(): TakenMessages;
  /**
   * Visits up to `max` messages in order without removing them. It ends at the first that is not in
   * memory.
   */
  peek(max: number, visit: EntryVisitor): void;
}

/** Messages that have left a queue all at once. */
export interface TakenMessages {
  /** How many messages there were. */
  readonly messageCount: number;
  /** Gives about `max` messages that are in memory to `release`; true when more are left. */
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
 * State entries of the open batch. A store knows no queues, only their lanes: the messages of a
 * queue that stand in one order. Each lane has a number of its own, from the same sequence as the
 * ids of queues; the first lane of a queue has the id of the queue. Each entry is one change of one
 * message or definition, and all entries of a batch are safe together or not at all. Only
 * persistent messages on durable queues and durable definitions are entered. An entry says what is
 * true from now on, so reading one twice does no harm.
 */
export interface EntrySink {
  /** The message is ready at a new position of the queue. */
  enqueued(laneId: number, position: number, ref: number): void;
  /** The message is out for delivery. `entry` is the entry with which it was delivered. */
  delivered(laneId: number, position: number, ref: number, entry: number): void;
  /** The message is ready again at its old position. */
  requeued(laneId: number, position: number, ref: number, entry: number): void;
  /** The message is held back until `delay.dueMs`. */
  delayed(laneId: number, position: number, ref: number, delay: Delay): void;
  /**
   * The message is on its way to the dead-letter exchange. A `removed` follows when it has got
   * there.
   */
  dying(laneId: number, position: number, ref: number, death: Death): void;
  /** The message came back from its delay to a new position. */
  returned(laneId: number, position: number, ref: number, newPosition: number): void;
  /** The message has left the queue for good. A `release` follows. */
  removed(laneId: number, position: number, ref: number, cause: RemovalCause): void;
  /**
   * Everything ready or delayed has left the queue; messages that are out or dying stay. A
   * `discard` follows.
   */
  purged(laneId: number): void;
  defined(kind: DefinitionKind, key: string, value: unknown): void;
  undefined(kind: DefinitionKind, key: string): void;
}

/** Why a message goes to the dead-letter exchange. */
export type DeathCause = "rejected" | "expired" | "maxlen" | "delivery_limit";

/** The content of a `dying` entry: the cause, and the deliveries spent. */
export interface Death {
  reason: DeathCause;
  entry: number;
}

/** The content of a `delayed` entry: the end of the delay and the deliveries spent. */
export interface Delay {
  dueMs: number;
  entry: number;
  /** Rises with every delay of the node. It gives the order of delays that end at the same time. */
  number: number;
}

/**
 * The kind of a definition. "deleted" is a deleted queue that still has dead letters to publish.
 */
export type DefinitionKind = "exchange" | "queue" | "binding" | "deleted";

/** A message that a store has kept, as it was when the node ended. The object is reused. */
export interface KeptMessage {
  readonly ref: number;
  readonly position: number;
  readonly entry: number;
  readonly bodyBytes: number;
  /** The time at which its delay ends, ms; 0 unless it is delayed. */
  readonly dueMs: number;
  /** The number of its delay; 0 unless it is delayed. */
  readonly delayNumber: number;
}

/** Takes over the messages of one queue. Ready and delayed ones may come as pages. */
export interface QueueSink {
  /** Owner of the pages of delayed messages; null if the queue takes none. */
  readonly delayedOwner: PageOwner | null;
  ready(message: KeptMessage): void;
  /** The message was out for delivery when the node ended. */
  out(message: KeptMessage): void;
  delayed(message: KeptMessage): void;
  /** The message was on its way to the dead-letter exchange. */
  dying(message: KeptMessage, cause: DeathCause): void;
  /** The lane of the queue has taken a page of ready messages. */
  readyPage(page: PagePlace): void;
  /** `delayedOwner` has taken a page. */
  delayedPage(page: PagePlace): void;
  /** So many messages are lost with the file that held them, or because nobody takes them. */
  missing(messageCount: number): void;
}

/** Takes over the state that a store has kept over the end of the node, in the order of the methods. */
export interface RecoverySink {
  /** Queue ids up to this one have been used. */
  lastQueueId(queueId: number): void;
  /** Kinds come in the order exchange, queue, binding, deleted. */
  defined(kind: DefinitionKind, value: unknown): void;
  /** Returns who takes the messages of a lane; null when its queue is not defined. */
  queue(laneId: number): QueueSink | null;
  /** Everything has been handed over. */
  ended(): void;
}

/** A store that keeps its state over the end of the node. */
export interface KeepingStore {
  /**
   * Hands over the state that was found at open, once. Messages of a queue come by rising position.
   * The sink enters no definition anew.
   */
  restore(sink: RecoverySink): void;
}

/** The node's message store. Every method belongs to the current turn; none blocks. */
export interface Store {
  /** Copies a message in and returns its body reference (> 0), held by `holderCount` queues. */
  append(message: MessageSource, holderCount: number): number;
  /** Takes the lane from the holders of the record. The last holder frees the record. */
  release(ref: number, laneId: number): void;
  /**
   * Releases messages that the queue has given up all at once, a bounded number a turn; returns how
   * many they are.
   */
  discard(taken: TakenMessages, laneId: number): number;
  /** Fills in the facts that need no bytes (sizes, flags, times). It always answers at once. */
  describe(ref: number, view: RecordView): void;
  /** Points `view` at a record; false when its bytes are not resident (then `request` them). */
  open(ref: number, view: RecordView): boolean;
  /** Asks for the bytes of a record; the waiter is told in a later turn. */
  request(ref: number, waiter: ReadWaiter): void;
  /** Asks for the bytes of the loaded head of a lane. Messages behind it may be read along. */
  requestHead(lane: ReadyLane, waiter: ReadWaiter): void;
  /** Makes the ready index of a lane. An empty index owns no buffer. */
  openLane(laneId: number): ReadyLane;
  /** Forgets a lane of a deleted queue, which is empty and gets nothing any more. */
  closeLane(laneId: number): void;
  /** Pages for delayed messages that are not needed soon; null when everything stays in memory. */
  readonly delayedPages: DelayedPages | null;
  /** State entries of the open batch; null when the store keeps none. */
  readonly entries: EntrySink | null;
  /** Number of the batch that entries made now will belong to. */
  readonly openBatch: number;
  /** Whether the open batch holds nothing so far. */
  readonly isBatchEmpty: boolean;
  /** Bytes of the open batch. */
  readonly openBatchBytes: number;
  /** Is told that a client waits for the open batch, which should be safe soon. */
  wantSync(): void;
  /** Ends the turn's batch at broker time `nowMs`. */
  commit(nowMs: number): void;
  /** Every batch up to and including this number is decided: safe, unless it has failed. */
  readonly safeBatch: number;
  /**
   * Every batch up to and including this number is on the disk. A failed batch is decided at once,
   * but counts here only when it has reached the disk after all.
   */
  readonly storedBatch: number;
  /** The last batch that holds a change of definitions; 0 when none has. */
  readonly definitionBatch: number;
  /** The last batch that removes a definition; 0 when none has. */
  readonly undefinitionBatch: number;
  /** Whether a decided batch failed. Its messages must be refused to their publishers. */
  isFailed(batch: number): boolean;
  /** Whether persistent messages cannot be kept at the moment. Their publishes must be refused. */
  readonly isReadOnly: boolean;
  /** Whether the disk is nearly full. Publishers must be blocked until there is room. */
  readonly isDiskLow: boolean;
  /**
   * Called when a sync or a read has finished and a turn should follow. Set by the code that runs
   * turns.
   */
  onWake: () => void;
  /** Does a bounded piece of housekeeping; true when more can be done at once. */
  maintain(nowMs: number): boolean;
  /**
   * Bytes of memory held for messages: arenas, tables, lanes, and batches that are not on the disk
   * yet.
   */
  readonly memoryBytes: number;
  /**
   * Bytes of it that messages need. Publishers wait for these to become fewer, so every byte that
   * counts here goes with its message or can be written to the disk. Memory that is held in reserve
   * does not count.
   */
  readonly usedBytes: number;
  /** Bytes of live records. */
  readonly liveBytes: number;
  readonly liveMessageCount: number;
}
