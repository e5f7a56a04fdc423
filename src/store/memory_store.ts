// The store that keeps everything in memory: an arena of records and lanes of typed arrays. An
// embedded broker uses it by default, and the tests do. Every batch is safe as soon as it ends, and
// every record is resident. It decides nothing about messages.

import { Arena } from "./memory/arena.ts";
import { ChunkPool } from "./memory/lane_chunk.ts";
import { Lane, type MemoryAccount } from "./memory/lane.ts";
import { Discards } from "./memory/discards.ts";
import type {
  EntrySink,
  MessageSource,
  ReadWaiter,
  ReadyLane,
  RecordView,
  Store,
  TakenMessages,
} from "./port.ts";

const DISCARDED_PER_STEP = 4096;

/** A {@link Store} without files. */
export class MemoryStore implements Store {
  readonly entries: EntrySink | null;
  /** Definitions are safe as soon as they are made. */
  readonly definitionBatch = 0;
  readonly undefinitionBatch = 0;
  readonly delayedPages = null;
  readonly isReadOnly = false;
  readonly isDiskLow = false;
  /** Never called, because nothing here finishes later. */
  onWake: () => void = () => {};
  #openBatch = 1;
  #laneBytes = 0;
  readonly #arena: Arena;
  readonly #discards = new Discards(
    (ref, queueId) => this.release(ref, queueId),
    DISCARDED_PER_STEP,
  );
  readonly #chunks = new ChunkPool();
  readonly #account: MemoryAccount = (deltaBytes) => {
    this.#laneBytes += deltaBytes;
  };

  /**
   * `entries` receives the state entries of every batch, so that a caller can check or ship them.
   * The store holds more than `heldBytesMax` only if that many bytes are alive.
   */
  constructor(options: { entries?: EntrySink; heldBytesMax?: number } = {}) {
    this.entries = options.entries ?? null;
    this.#arena = new Arena(options.heldBytesMax);
  }

  append(message: MessageSource, holderCount: number): number {
    return this.#arena.append(message, holderCount);
  }

  release(ref: number, _queueId: number): void {
    this.#arena.release(ref);
  }

  discard(taken: TakenMessages, queueId: number): number {
    return this.#discards.add(taken, queueId);
  }

  describe(ref: number, view: RecordView): void {
    this.#arena.describe(ref, view);
  }

  open(ref: number, view: RecordView): boolean {
    return this.#arena.open(ref, view);
  }

  request(_ref: number, waiter: ReadWaiter): void {
    waiter.readArrived();
  }

  requestHead(_lane: ReadyLane, waiter: ReadWaiter): void {
    waiter.readArrived();
  }

  openLane(_laneId: number): ReadyLane {
    return new Lane(this.#chunks, this.#account);
  }

  closeLane(_laneId: number): void {
    // An empty lane owns nothing.
  }

  get openBatch(): number {
    return this.#openBatch;
  }

  get isBatchEmpty(): boolean {
    return true;
  }

  get openBatchBytes(): number {
    return 0;
  }

  wantSync(): void {
    // Every batch is safe when it ends.
  }

  get storedBatch(): number {
    return this.#openBatch - 1;
  }

  get safeBatch(): number {
    return this.#openBatch - 1;
  }

  commit(_nowMs: number): void {
    this.#openBatch++;
  }

  isFailed(_batch: number): boolean {
    return false;
  }

  maintain(_nowMs: number): boolean {
    const isDiscarding = this.#discards.step();
    return this.#arena.compact() || isDiscarding;
  }

  get memoryBytes(): number {
    return this.#arena.memoryBytes + this.#laneBytes;
  }

  get usedBytes(): number {
    return this.#arena.usedBytes + this.#laneBytes;
  }

  get liveBytes(): number {
    return this.#arena.liveBytes;
  }

  get liveMessageCount(): number {
    return this.#arena.recordCount;
  }
}
