// Enters state entries into the commit log, and at the same time into the holdings, so that
// snapshots and moves know the live messages. The broker calls it through EntrySink. It decides
// nothing.

import type { Arena } from "../memory/arena.ts";
import type { Death, DefinitionKind, Delay, EntrySink, RecordView, RemovalCause } from "../port.ts";
import { emptyView } from "../views.ts";
import type { CommitLog } from "../log/commit_log.ts";
import type { Definitions } from "./definitions.ts";
import {
  BATCH_HEADER_BYTES,
  dyingState,
  ENTRY_DELIVERED,
  ENTRY_REQUEUED,
  STATE_DELAYED,
  STATE_OUT,
  STATE_READY,
} from "../format/format.ts";
import type { Holdings } from "./holdings.ts";

/** Enters changes into the open batch. */
export class LogEntries implements EntrySink {
  readonly #arena: Arena;
  readonly #holdings: Holdings;
  readonly #log: CommitLog;
  readonly #definitions: Definitions;
  readonly #view: RecordView = emptyView();
  /** The last batch with a change of definitions. */
  definitionBatch = 0;
  /** The last batch that removes a definition. */
  undefinitionBatch = 0;
  /** Messages whose record is in the open batch and that some queue still holds. */
  #youngCount = 0;
  /** Bytes of the open batch that concern only messages whose record is in it. */
  #youngBytes = 0;

  constructor(
    parts: {
      arena: Arena;
      holdings: Holdings;
      log: CommitLog;
      definitions: Definitions;
    },
  ) {
    this.#arena = parts.arena;
    this.#holdings = parts.holdings;
    this.#log = parts.log;
    this.#definitions = parts.definitions;
  }

  /**
   * Whether the open batch concerns only messages that came and went within it, as they do where
   * consumers need not acknowledge. Then nothing in the batch is needed.
   */
  get isMoot(): boolean {
    const { out } = this.#log.batch;
    return this.#youngCount === 0 && this.#youngBytes > 0 &&
      this.#youngBytes === out.byteCount - BATCH_HEADER_BYTES;
  }

  /** To be called when the open batch has ended. */
  committed(): void {
    this.#youngCount = 0;
    this.#youngBytes = 0;
  }

  /** Is told that the last queue has released a record, while the record still has its place. */
  freed(ref: number): void {
    if (this.#isYoung(ref)) this.#youngCount--;
  }

  #isYoung(ref: number): boolean {
    const { file } = this.#log;
    return this.#holdings.fileOf(ref) === file.number &&
      this.#holdings.offsetOf(ref) >= file.byteLength;
  }

  enqueued(queueId: number, position: number, ref: number): void {
    const log = this.#log;
    const before = log.batch.out.byteCount;
    if (this.#holdings.fileOf(ref) === 0) this.#logRecord(ref);
    const recordAt = this.#holdings.offsetOf(ref) - log.offsetOf(0);
    log.batch.enqueued(queueId, position, recordAt);
    this.#holdings.add(ref, queueId, position);
    // The record is in this batch, because the entry cannot name another batch.
    this.#youngBytes += log.batch.out.byteCount - before;
    log.wantSync();
  }

  // Writes the record with the first queue that keeps it. A fanout writes it once.
  #logRecord(ref: number): void {
    const log = this.#log;
    const view = this.#view;
    this.#arena.open(ref, view);
    const at = log.batch.record(view);
    const recordBytes = log.batch.out.byteCount - at;
    this.#holdings.place(ref, log.file.number, log.offsetOf(at), recordBytes);
    log.file.liveRecords++;
    log.file.liveBytes += recordBytes;
    this.#youngCount++;
  }

  delivered(queueId: number, position: number, ref: number, entry: number): void {
    this.#log.batch.counted(ENTRY_DELIVERED, queueId, position, entry);
    this.#holdings.setState(this.#holdings.find(ref, queueId), STATE_OUT, entry);
  }

  requeued(queueId: number, position: number, ref: number, entry: number): void {
    this.#log.batch.counted(ENTRY_REQUEUED, queueId, position, entry);
    this.#holdings.setState(this.#holdings.find(ref, queueId), STATE_READY, entry);
  }

  delayed(queueId: number, position: number, ref: number, delay: Delay): void {
    const { dueMs, entry, number } = delay;
    this.#log.batch.delayed(queueId, position, delay);
    const holding = this.#holdings.find(ref, queueId);
    this.#holdings.setState(holding, STATE_DELAYED, entry);
    this.#holdings.setDelay(holding, dueMs, number);
  }

  dying(queueId: number, position: number, ref: number, death: Death): void {
    this.#log.batch.dying(queueId, position, death);
    const holding = this.#holdings.find(ref, queueId);
    this.#holdings.setState(holding, dyingState(death.reason), death.entry);
  }

  returned(queueId: number, position: number, ref: number, newPosition: number): void {
    this.#log.batch.returned(queueId, position, newPosition);
    const holding = this.#holdings.find(ref, queueId);
    this.#holdings.setState(holding, STATE_READY, this.#holdings.entryOf(holding));
    this.#holdings.setPosition(holding, newPosition);
  }

  removed(queueId: number, position: number, ref: number, cause: RemovalCause): void {
    const { out } = this.#log.batch;
    const before = out.byteCount;
    this.#log.batch.removed(queueId, position, cause);
    if (this.#isYoung(ref)) this.#youngBytes += out.byteCount - before;
  }

  purged(queueId: number): void {
    this.#log.batch.purged(queueId);
  }

  defined(kind: DefinitionKind, key: string, value: unknown): void {
    this.#definitions.set(kind, key, value);
    this.#log.batch.defined(kind, key, value);
    this.#changed();
  }

  undefined(kind: DefinitionKind, key: string): void {
    this.#definitions.delete(kind, key);
    this.#log.batch.undefined(kind, key);
    this.undefinitionBatch = this.#log.openBatch;
    this.#changed();
  }

  #changed(): void {
    this.definitionBatch = this.#log.openBatch;
    this.#log.wantSync();
  }
}
