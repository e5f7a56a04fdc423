// What a client outside of the broker remembers of its messages, and what must be true of them however
// often the broker is killed. The load tells it everything it sends and receives; nothing here talks to
// a broker. Problems are collected, so that one run shows all of them.

/** The retry settings of the queues under load, as far as the ledger judges them. */
export interface RetryRule {
  readonly deliveryLimit: number;
  /** The delay after the `spent`-th delivery. */
  delayMs(spent: number): number;
}

/** One delivery as the client saw it. */
export interface Seen {
  readonly id: number;
  readonly redelivered: boolean;
  /** `x-delivery-count`, 0 when it is absent. */
  readonly count: number;
  readonly nowMs: number;
}

/** What has become of a message, as far as the client can know. */
interface Entry {
  readonly rule: RetryRule;
  /** Whether messages of its queue are also taken for good by `basic.get`. */
  readonly isPolled: boolean;
  isConfirmed: boolean;
  deliveries: number;
  /** Deliveries the broker counted, by what the last one said. */
  spent: number;
  /** An ack has been sent since the last delivery. */
  isAcked: boolean;
  /** The broker has that ack for certain: the message must never be seen again. */
  isGone: boolean;
  /** The broker has rejected it for good, for certain: it is dead, and in its queue no more. */
  isBuried: boolean;
  /** It has been found among the dead letters. */
  isDead: boolean;
  /** Earliest time of its next delivery; 0 when nothing is certain. */
  dueMs: number;
}

/** Something the client has asked for a message and cannot be sure of yet. */
interface Doubt {
  readonly entry: Entry;
  readonly kind: "acked" | "delayed" | "buried";
  readonly atMs: number;
}

/** Two clocks of one machine, rounded by two programs. */
const EARLY_TOLERANCE_MS = 5;
const PROBLEMS_MAX = 50;

/** The memory of one client. */
export class Ledger {
  readonly problems: string[] = [];
  readonly #entries = new Map<number, Entry>();
  #doubts: Doubt[] = [];
  /** Messages for which a get for good was under way when the broker was killed. */
  #takenUnseenMax = 0;
  #confirmedCount = 0;
  #deliveredCount = 0;
  #redeliveredCount = 0;

  /** Figures of the run. */
  get summary(): string {
    return `${this.#entries.size} published, ${this.#confirmedCount} confirmed, ` +
      `${this.#deliveredCount} deliveries, ${this.#redeliveredCount} of them again`;
  }

  /** A message is about to be published; its id, and what its queue does. */
  published(id: number, rule: RetryRule, isPolled: boolean): void {
    this.#entries.set(id, {
      rule,
      isPolled,
      isConfirmed: false,
      deliveries: 0,
      spent: 0,
      isAcked: false,
      isGone: false,
      isBuried: false,
      isDead: false,
      dueMs: 0,
    });
  }

  /** The broker has taken responsibility. */
  confirmed(id: number): void {
    this.#entries.get(id)!.isConfirmed = true;
    this.#confirmedCount++;
  }

  /** A message came from its queue. */
  delivered({ id, redelivered, count, nowMs }: Seen): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return this.#problem(`message ${id} was never published`);
    const { rule } = entry;
    const before = entry.deliveries++;
    this.#deliveredCount++;
    if (redelivered) this.#redeliveredCount++;
    if (entry.isGone) this.#problem(`message ${id} came back after its ack`);
    if (entry.isBuried) this.#problem(`message ${id} came back after it was rejected for good`);
    if (entry.isDead) this.#problem(`message ${id} came back although it is a dead letter`);
    if (entry.deliveries > rule.deliveryLimit + 1) {
      this.#problem(`message ${id} was delivered ${entry.deliveries} times`);
    }
    if (count < before || count > rule.deliveryLimit) {
      this.#problem(`message ${id} says ${count} deliveries after at least ${before}`);
    }
    if (redelivered !== count > 0) {
      this.#problem(`message ${id} has redelivered=${redelivered} after ${count} deliveries`);
    }
    if (nowMs < entry.dueMs - EARLY_TOLERANCE_MS) {
      this.#problem(`message ${id} came ${entry.dueMs - nowMs} ms too early`);
    }
    entry.spent = count + 1;
    entry.isAcked = false;
    entry.dueMs = 0;
  }

  /** An ack is about to be sent. */
  acking(id: number, nowMs: number): void {
    const entry = this.#entries.get(id)!;
    entry.isAcked = true;
    this.#doubts.push({ entry, kind: "acked", atMs: nowMs });
  }

  /** A message came that needs no acknowledgement: it is gone from the queue. */
  taken(id: number, nowMs: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return this.#problem(`message ${id} was never published`);
    this.#deliveredCount++;
    if (entry.isGone) this.#problem(`message ${id} came back after its ack`);
    if (entry.isBuried) this.#problem(`message ${id} came back after it was rejected for good`);
    if (nowMs < entry.dueMs - EARLY_TOLERANCE_MS) {
      this.#problem(`message ${id} came ${entry.dueMs - nowMs} ms too early`);
    }
    entry.isAcked = true;
    entry.isGone = true;
  }

  /** A reject for good is about to be sent. */
  burying(id: number, nowMs: number): void {
    this.#doubts.push({ entry: this.#entries.get(id)!, kind: "buried", atMs: nowMs });
  }

  /** A reject with requeue is about to be sent. */
  rejecting(id: number, nowMs: number): void {
    this.#doubts.push({ entry: this.#entries.get(id)!, kind: "delayed", atMs: nowMs });
  }

  /** The broker has answered something that was asked after the first `count` doubts. */
  settled(count: number): void {
    for (const { entry, kind, atMs } of this.#doubts.splice(0, count)) {
      if (kind === "acked") entry.isGone = true;
      else if (kind === "buried") entry.isBuried = true;
      else if (entry.spent <= entry.rule.deliveryLimit) {
        entry.dueMs = atMs + entry.rule.delayMs(entry.spent);
      }
    }
  }

  /** What has been asked and not answered. */
  get doubtCount(): number {
    return this.#doubts.length;
  }

  /** The broker has been killed: what was under way may have happened or not. */
  killed(): void {
    this.#doubts = [];
  }

  /**
   * A get that needs no acknowledgement has had no answer. Its message may have left the queue: nobody
   * can tell whether the answer was lost.
   */
  getUnanswered(): void {
    this.#takenUnseenMax++;
  }

  /** A message came from the queue of dead letters. */
  dead(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return this.#problem(`dead letter ${id} was never published`);
    if (entry.isDead) this.#problem(`dead letter ${id} is there twice`);
    if (entry.isGone) this.#problem(`message ${id} is a dead letter after its ack`);
    entry.isDead = true;
  }

  /**
   * Confirmed messages of which nobody knows where they are, without those that unanswered gets may have
   * taken.
   */
  get missing(): number[] {
    let unseen = this.#takenUnseenMax;
    return this.#unaccounted.filter((id) => !this.#entries.get(id)!.isPolled || unseen-- <= 0);
  }

  /** How many messages unanswered gets have taken, as it seems, of how many gets. */
  get takenUnseen(): string {
    return `${this.#unaccounted.length - this.missing.length} of ${this.#takenUnseenMax}`;
  }

  get #unaccounted(): number[] {
    const found: number[] = [];
    for (const [id, { isConfirmed, isAcked, isDead }] of this.#entries) {
      if (isConfirmed && !isAcked && !isDead) found.push(id);
    }
    return found;
  }

  /** Closes the books: what is missing now is lost. */
  close(): void {
    const { missing } = this;
    if (missing.length === 0) return;
    const some = missing.slice(0, 20).map((id) => {
      const { deliveries, spent } = this.#entries.get(id)!;
      return `${id} (delivered ${deliveries}, said ${spent})`;
    });
    this.#problem(`${missing.length} confirmed messages are lost: ${some.join(", ")}`);
  }

  /** Something is not as it must be. */
  problem(text: string): void {
    this.#problem(text);
  }

  #problem(text: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(text);
  }
}
