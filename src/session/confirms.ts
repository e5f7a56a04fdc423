// Publisher confirms of one channel: which publishes are decided and how few frames say so. The channel
// adds every publish, the engine settles at the end of a turn. Answers leave in the order of the tags,
// and a cumulative one never covers a publish whose answer is another. So a nack waits for the publishes
// before it.
//
//   tags   1 2 3 │ 4 5 6 │ 7 │ 8 9 …       a run: publishes in a row with the same answer and batch
//         answered  run 1  2   run 3       run 2 was refused; both others wait for their batches

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

/** Publishes in a row whose answer is the same and waits for the same batch. */
interface Run {
  lastTag: number;
  batch: number;
  isRefused: boolean;
}

// So many answers of a turn are sent one by one: clients that count callbacks wait for as many.
const SINGLE_ANSWERS_MAX = 4;
// There are clients that take a cumulative answer for everything since the last cumulative one, whatever
// they have been told of single publishes: it is sent only when all of those had the same answer.
const ACKS = 1;
const NACKS = 2;
// Records of runs that are kept for later ones.
const SPARE_RUNS_MAX = 64;

/** Confirm mode of one channel; off until `confirm.select`. */
export class Confirms {
  /** Whether the channel is in confirm mode. */
  isOn = false;
  #lastTag = 0;
  /** Every publish up to this one has its answer. */
  #answeredTag = 0;
  /** Which answers were sent one by one since the last cumulative one: bits of `ACKS` and `NACKS`. */
  #singleAnswers = 0;
  /** Only the first `#runCount` are meant, oldest first; the others are used again. */
  readonly #runs: Run[] = [];
  #runCount = 0;

  /** The tag of the next publish. */
  nextTag(): number {
    return ++this.#lastTag;
  }

  /** A publish was accepted; it is safe once `batch` is. */
  accepted(tag: number, batch: number): void {
    this.#add(tag, batch, false);
  }

  /** A publish was refused. */
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

  /** Whether {@linkcode settle} has something to look at now or later. */
  get isWaiting(): boolean {
    return this.#runCount > 0;
  }

  /** Whether `settle(safeBatch)` would write something. */
  hasSafe(safeBatch: number): boolean {
    return this.#runCount > 0 && this.#runs[0]!.batch <= safeBatch;
  }

  /** Answers, in the order of their tags, the publishes before the first that waits; adds to `counts`. */
  settle(out: ByteWriter, channel: number, store: Batches, counts: ConfirmCounts): void {
    const decided = this.#decidedRuns(store.safeBatch);
    if (decided === 0) return;
    const isFew = this.#runs[decided - 1]!.lastTag - this.#answeredTag <= SINGLE_ANSWERS_MAX;
    for (let index = 0; index < decided; index++) {
      const isNack = this.#isNack(index, store);
      while (index + 1 < decided && this.#isNack(index + 1, store) === isNack) index++;
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

  #isNack(index: number, store: Batches): boolean {
    const { isRefused, batch } = this.#runs[index]!;
    return isRefused || (batch !== SAFE_AT_TURN_END && store.isFailed(batch));
  }

  // Both answer everything behind the last answer, up to `lastTag`.

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

  // The records of what is answered go behind the others, to be used again.
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

  /** Forgets what is waiting: the channel is gone. */
  clear(): void {
    this.#runs.length = 0;
    this.#runCount = 0;
  }
}
