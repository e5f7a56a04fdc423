// Publisher confirms of one channel: which publishes are safe and how few frames say so. The channel
// adds every publish, the engine settles at the end of a turn. An ack never passes a publish that is
// still waiting for its batch; refusals leave at once as a nack.
//
//   tags   1 2 3 4 5 6 7 8 …          settled up to here with one ack, multiple = true
//          └──────┘└─────┘└─ …        runs: consecutive publishes waiting for the same batch
//            safe    run 1  run 2

import { writeAck, writeNack } from "../amqp/hot_frames.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";

/** The batch of a publish that is safe when the turn is over. */
export const SAFE_AT_TURN_END = 0;

/** What confirms ask the store. */
export interface Batches {
  /** Every batch up to and including this one is decided. */
  readonly safeBatch: number;
  /** Whether a decided batch was not kept. */
  isFailed(batch: number): boolean;
}

/** What confirms count. */
export interface ConfirmCounts {
  confirmed: number;
  nacked: number;
}

interface Run {
  lastTag: number;
  batch: number;
  count: number;
}

/** Confirm mode of one channel; off until `confirm.select`. */
export class Confirms {
  /** Whether the channel is in confirm mode. */
  isOn = false;
  #lastTag = 0;
  #safeTag = 0;
  #safeCount = 0;
  #runs: Run[] = [];

  /** The tag of the next publish. */
  nextTag(): number {
    return ++this.#lastTag;
  }

  /** A publish was accepted; it is safe once `batch` is. */
  accepted(tag: number, batch: number): void {
    const last = this.#runs.at(-1);
    if (last === undefined && batch === SAFE_AT_TURN_END) {
      this.#safeTag = tag;
      this.#safeCount++;
    } else if (last !== undefined && batch <= last.batch) {
      last.lastTag = tag;
      last.count++;
    } else {
      this.#runs.push({ lastTag: tag, batch, count: 1 });
    }
  }

  /** A publish was refused. */
  refused(out: ByteWriter, channel: number, tag: number): void {
    writeNack(out, channel, tag, false);
  }

  /** Whether {@linkcode settle} has something to look at now or later. */
  get isWaiting(): boolean {
    return this.#safeCount > 0 || this.#runs.length > 0;
  }

  /** Whether `settle(safeBatch)` would write something. */
  hasSafe(safeBatch: number): boolean {
    if (this.#safeCount > 0) return true;
    return this.#runs.length > 0 && this.#runs[0]!.batch <= safeBatch;
  }

  /** Acks everything that is safe and nacks what a failed batch held; adds to `counts`. */
  settle(out: ByteWriter, channel: number, store: Batches, counts: ConfirmCounts): void {
    let done = 0;
    while (done < this.#runs.length && this.#runs[done]!.batch <= store.safeBatch) {
      const run = this.#runs[done++]!;
      if (store.isFailed(run.batch)) {
        // What is safe goes first: a multiple nack covers everything before it.
        this.#ack(out, channel, counts);
        writeNack(out, channel, run.lastTag, run.count > 1);
        counts.nacked += run.count;
      } else {
        this.#safeTag = run.lastTag;
        this.#safeCount += run.count;
      }
    }
    if (done > 0) this.#runs = this.#runs.slice(done);
    this.#ack(out, channel, counts);
  }

  #ack(out: ByteWriter, channel: number, counts: ConfirmCounts): void {
    if (this.#safeCount > 0) writeAck(out, channel, this.#safeTag, this.#safeCount > 1);
    counts.confirmed += this.#safeCount;
    this.#safeCount = 0;
  }

  /** Forgets what is waiting: the channel is gone. */
  clear(): void {
    this.#runs = [];
    this.#safeCount = 0;
  }
}
