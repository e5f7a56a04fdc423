// What the retry side needs from the queue whose messages wait and from the node. Queue and Broker have
// these members; the retry side knows nothing else of them.

import type { Logger } from "../../lib/logger.ts";
import type { Scheduler } from "../../schedule/scheduler.ts";
import type { DeathCause, EntrySink, RecordView, Store } from "../../store/port.ts";
import type { Limits } from "../limits.ts";
import type { Metrics } from "../metrics.ts";
import type { Timers } from "../timers.ts";
import type { DelayedTable } from "./delayed_table.ts";
import type { Retries } from "./retries.ts";
import type { UnsafeDelays } from "./unsafe_delays.ts";

/** The parts of the node that a retry queue uses. */
export interface RetryQueueBroker {
  readonly scheduler: Scheduler;
  readonly timers: Timers;
  readonly store: Store;
  readonly delayedTable: DelayedTable;
  readonly unsafeDelays: UnsafeDelays;
  /** Broker time of this turn, ms. */
  readonly nowMs: number;
}

/** The parts of the node that the retry side of a queue uses. */
export interface RetryBroker extends RetryQueueBroker {
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Returns random numbers in [0, 1). */
  readonly random: () => number;
  /** Has due messages taken in this turn or a later one. */
  retryIsDue(retries: Retries): void;
}

/** Where messages go when they do not wait any more. */
interface ReadySide {
  /** Whether a publish of this size is accepted. */
  admits(bodyBytes: number): boolean;
  /** Takes a message whose delay is over at the tail. */
  acceptReturn(ref: number, position: number, entry: number, view: RecordView): void;
  /** Takes a message whose delay cannot be kept at its old position. */
  takeBack(ref: number, position: number, entry: number, view: RecordView): void;
}

/** The queue whose messages wait. */
export interface RetriedQueue {
  readonly id: number;
  readonly name: string;
  readonly vhost: { readonly name: string };
  readonly broker: RetryBroker;
  readonly ready: ReadySide;
  readonly retries: Retries | null;
  /** Counts as use for `x-expires`. */
  touch(): void;
  /** When a message of this queue expires, ms. */
  expiryOf(view: RecordView): number;
  /** Returns the sink for state entries of a message; null when it does not survive a restart. */
  entriesFor(flags: number): EntrySink | null;
  /** Gives a message up. */
  deadLetter(ref: number, position: number, entry: number, reason: DeathCause): void;
}
