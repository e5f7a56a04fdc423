// The queues of one simulated run: drawn at random from everything that shapes a message's life, with
// the simulation's own idea of what each argument means, written from docs/automatic-retries.md and
// not from the broker's code. The ledger asks it what has to happen.

import type { Prng } from "../../src/lib/prng.ts";
import type { FieldValue } from "../../src/amqp/field_value.ts";
import { longField } from "../../src/amqp/field_value.ts";
import type { Plain } from "../support/test_broker.ts";

/** Why a message comes back. */
export type Cause = "reject" | "nack" | "recover" | "close";

/** Where dead letters go. */
export const DEAD_QUEUE = "dead";

const DELAY_MS_MAX = 2 ** 32 - 1;

/** One queue and what is promised about it. */
export class QueuePlan {
  readonly name: string;
  readonly args: Plain = {};
  /** Most deliveries spent; one more delivery than that may be made. */
  limit = Infinity;
  /** Whether `x-delivery-count` is the broker's. */
  keepsCount = false;
  hasDeadLetters = false;
  ttlMs = Infinity;
  /** Old messages may be dropped for new ones. */
  dropsHead = false;
  /** New messages may be refused. */
  refuses = false;
  /** Grows when the queue is deleted: what was in it is gone. */
  epoch = 0;
  #delayMs: ((spent: number) => number) | null = null;
  #jitterPercent = 0;
  #type = "";

  constructor(name: string, prng: Prng) {
    this.name = name;
    if (prng.nextBelow(4) > 0) this.#drawRetry(prng);
    if (this.#delayMs === null && prng.nextBelow(2) === 0) this.#drawLimit(prng);
    if (prng.nextBelow(2) === 0) this.#drawDeadLetters();
    if (prng.nextBelow(5) === 0) this.#drawTtl(prng);
    if (prng.nextBelow(5) === 0) this.#drawLength(prng);
  }

  /** Whether a message may leave the queue without a consumer having settled it. */
  get isLossy(): boolean {
    return this.ttlMs !== Infinity || this.dropsHead;
  }

  /** Whether a return for `cause` uses up one delivery. */
  spends(cause: Cause): boolean {
    return !(cause === "nack" && (this.#type === "failed" || this.#type === "returned"));
  }

  /** The shortest delay after a return for `cause` with `spent` deliveries used up; 0 = at once. */
  delayMs(cause: Cause, spent: number): number {
    if (this.#delayMs === null || !this.#isDelayed(cause)) return 0;
    const delayMs = Math.min(DELAY_MS_MAX, this.#delayMs(Math.max(1, spent)));
    return Math.max(1, Math.floor(delayMs - delayMs * this.#jitterPercent / 100));
  }

  #isDelayed(cause: Cause): boolean {
    switch (this.#type) {
      case "":
        return cause === "reject" || cause === "nack";
      case "all":
        return cause !== "recover";
      case "failed":
        return cause === "reject" || cause === "close";
      default:
        return cause === "nack";
    }
  }

  #drawRetry(prng: Prng): void {
    const minMs = 1 + prng.nextBelow(400);
    if (prng.nextBelow(4) === 0) {
      const delays = Array.from({ length: 1 + prng.nextBelow(4) }, () => 1 + prng.nextBelow(900));
      this.args["x-delayed-retry-delays"] = {
        tag: "A",
        value: delays.map(longField),
      } as FieldValue;
      this.#delayMs = (spent) => delays[Math.min(spent, delays.length) - 1]!;
    } else {
      this.args["x-delayed-retry-min"] = minMs;
      this.#drawGrowth(prng, minMs);
    }
    if (prng.nextBelow(4) === 0) {
      this.#jitterPercent = prng.nextBelow(101);
      this.args["x-delayed-retry-jitter"] = this.#jitterPercent;
    }
    this.keepsCount = true;
    this.limit = 20;
    if (prng.nextBelow(2) === 0) this.#drawLimit(prng);
  }

  #drawGrowth(prng: Prng, minMs: number): void {
    const multiplier = prng.nextBelow(4);
    const maxMs = prng.nextBelow(2) === 0 ? 0 : 1 + prng.nextBelow(2000);
    if (multiplier > 0) this.args["x-delayed-retry-multiplier"] = multiplier;
    if (maxMs > 0) this.args["x-delayed-retry-max"] = maxMs;
    const types = ["", "", "all", "failed", "returned"];
    this.#type = types[prng.nextBelow(types.length)]!;
    if (this.#type !== "") this.args["x-delayed-retry-type"] = this.#type;
    const isCapped = this.#type !== "" && multiplier === 0 && maxMs === 0;
    const capMs = isCapped ? minMs : maxMs === 0 ? Infinity : maxMs;
    this.#delayMs = (spent) => {
      const delayMs = multiplier === 0 ? minMs * spent : minMs * multiplier ** (spent - 1);
      return Math.min(capMs, delayMs);
    };
  }

  #drawLimit(prng: Prng): void {
    this.limit = prng.nextBelow(6);
    this.args["x-delivery-limit"] = this.limit;
    this.keepsCount = true;
  }

  #drawDeadLetters(): void {
    this.hasDeadLetters = true;
    this.args["x-dead-letter-exchange"] = "";
    this.args["x-dead-letter-routing-key"] = DEAD_QUEUE;
  }

  #drawTtl(prng: Prng): void {
    this.ttlMs = 50 + prng.nextBelow(3000);
    this.args["x-message-ttl"] = this.ttlMs;
  }

  #drawLength(prng: Prng): void {
    this.args["x-max-length"] = 1 + prng.nextBelow(20);
    this.refuses = prng.nextBelow(2) === 0;
    this.dropsHead = !this.refuses;
    if (this.refuses) this.args["x-overflow"] = "reject-publish";
  }
}
