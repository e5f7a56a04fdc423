// Publisher confirms of one channel: decides which publishes can be answered, with few frames. The
// channel adds every publish, and the engine settles at the end of a turn. Answers are sent in the
// order of the tags, and a cumulative answer never covers a publish with another answer. A nack
// therefore waits for the publishes before it.
//
//   tags   1 2 3 │ 4 5 6 │ 7 │ 8 9 …       a run: publishes in a row with the same answer and batch
//         answered  run 1  2   run 3       run 2 was refused; both others wait for their batches

import { writeAck, writeNack } from "../amqp/hot_frames.ts";
import type { Safety } from "../broker/safety.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";

/** The batch of a publish that is safe when the turn ends. */
export const SAFE_AT_TURN_END = 0;

/** What confirms ask about batches. */
type Batches = Pick<Safety, "safeBatch" | "isFailed">;

/** The counts that confirms add to. */
export interface ConfirmCounts {
  confirmed: number;
  nacked: number;
}

/** Consecutive publishes with the same answer that wait for the same batch. */
interface Run {
  lastTag: number;
  batch: number;
  isRefused: boolean;
}

// Up to this many answers of a turn are sent one by one, for clients that count callbacks.
const SINGLE_ANSWERS_MAX = 4;
// Some clients take a cumulative answer for all publishes since the last cumulative one, whatever they
// were told about single publishes. It is therefore sent only when all of these had the same answer.
const ACKS = 1;
const NACKS = 2;
// Spare run records are kept up to this number.
const SPARE_RUNS_MAX = 64;

/** Confirm mode of one channel; off until `confirm.select`. */
export class Confirms {
  /** Whether the channel is in confirm mode. */
  isOn = false;
  #lastTag = 0;
  /** All publishes up to this tag are answered. */
  #answeredTag = 0;
  /** Answers sent one by one since the last cumulative one: bits of `ACKS` and `NACKS`. */
  #singleAnswers = 0;
  /** The first `#runCount` runs are valid, oldest first; the others are spare records. */
  readonly #runs: Run[] = [];
  #runCount = 0;

  /** Returns the tag of the next publish. */
  nextTag(): number {
    return ++this.#lastTag;
  }

  /** Adds an accepted publish, which is safe once `batch` is. */
  accepted(tag: number, batch: number): void {
    this.#add(tag, batch, false);
  }

  /** Adds a refused publish. */
  refused(tag: number): void {
    this.#add(tag, SAFE_AT_TURN_END, true);
  }

  #add(tag: number, batch: number, isRefused: boolean): void {
    if (this.#runCount > 0) {
      const last = this.#runs[this.#runCount - 1]!;
      if (last.isRefused === isRefused && batch <= last.batch) {
        last.lastTag = tag;
        return;
      }
    }
    if (this.#runCount === this.#runs.length) {
      this.#runs.push({ lastTag: tag, batch, isRefused });
    } else {
      const run = this.#runs[this.#runCount]!;
      run.lastTag = tag;
      run.batch = batch;
      run.isRefused = isRefused;
    }
    this.#runCount++;
  }

  /** Whether a publish still waits for its answer. */
  get isWaiting(): boolean {
    return this.#runCount > 0;
  }

  /** Whether `settle(safeBatch)` would write something. */
  hasSafe(safeBatch: number): boolean {
    return this.#runCount > 0 && this.#runs[0]!.batch <= safeBatch;
  }

  /**
   * Answers the publishes before the first that waits, in the order of their tags, and adds to
   * `counts`.
   */
  settle(out: ByteWriter, channel: number, safety: Batches, counts: ConfirmCounts): void {
    const decided = this.#decidedRuns(safety.safeBatch);
    if (decided === 0) return;
    const isFew = this.#runs[decided - 1]!.lastTag - this.#answeredTag <= SINGLE_ANSWERS_MAX;
    for (let index = 0; index < decided; index++) {
      const isNack = this.#isNack(index, safety);
      while (index + 1 < decided && this.#isNack(index + 1, safety) === isNack) index++;
      const { lastTag } = this.#runs[index]!;
      if (isNack) counts.nacked += lastTag - this.#answeredTag;
      else counts.confirmed += lastTag - this.#answeredTag;
      const isAlike = (this.#singleAnswers & ~(isNack ? NACKS : ACKS)) === 0;
      if (isFew || !isAlike) this.#answerSingly(out, channel, lastTag, isNack);
      else this.#answerTogether(out, channel, lastTag, isNack);
    }
    this.#forget(decided);
  }

  #decidedRuns(safeBatch: number): number {
    let count = 0;
    while (count < this.#runCount && this.#runs[count]!.batch <= safeBatch) count++;
    return count;
  }

  #isNack(index: number, safety: Batches): boolean {
    const { isRefused, batch } = this.#runs[index]!;
    return isRefused || (batch !== SAFE_AT_TURN_END && safety.isFailed(batch));
  }

  // Both answer all publishes after the last answer, up to `lastTag`.

  #answerSingly(out: ByteWriter, channel: number, lastTag: number, isNack: boolean): void {
    const write = isNack ? writeNack : writeAck;
    while (this.#answeredTag < lastTag) write(out, channel, ++this.#answeredTag, false);
    this.#singleAnswers |= isNack ? NACKS : ACKS;
  }

  #answerTogether(out: ByteWriter, channel: number, lastTag: number, isNack: boolean): void {
    const write = isNack ? writeNack : writeAck;
    write(out, channel, lastTag, true);
    this.#answeredTag = lastTag;
    this.#singleAnswers = 0;
  }

  // Moves the records of answered runs behind the others, for reuse.
  #forget(count: number): void {
    const runs = this.#runs;
    for (let index = count; index < this.#runCount; index++) {
      const forgotten = runs[index - count]!;
      runs[index - count] = runs[index]!;
      runs[index] = forgotten;
    }
    this.#runCount -= count;
    if (runs.length > SPARE_RUNS_MAX) runs.length = Math.max(this.#runCount, SPARE_RUNS_MAX);
  }

  /** Forgets all waiting publishes, because the channel is gone. */
  clear(): void {
    this.#runs.length = 0;
    this.#runCount = 0;
  }
}
