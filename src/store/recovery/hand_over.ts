// Hands the state that recovery has found over to the broker: definitions, then the messages of every
// queue in order. FileStore calls it once. Nothing here decides what becomes of a message.

import { deathCauseOf, KINDS, STATE_DELAYED, STATE_OUT } from "../format/format.ts";
import type { Placed } from "../format/batch_writer.ts";
import { emptyRow } from "../format/message_row.ts";
import type { PageOwner, PagePlace } from "../page.ts";
import type { QueueSink, RecoverySink } from "../port.ts";
import type { Recovered, RecoveredQueue } from "./recovery.ts";

/** The lane of a queue, as far as it is filled here. */
interface RecoveredLane extends PageOwner {
  nextPosition: number;
}

/** Takes messages and pages into the store. */
export interface Adopter {
  /** Takes in a message; 0 when its file is missing. */
  adopt(message: Placed): number;
  /** Takes in a page; false when its file is missing. */
  adoptPage(owner: PageOwner, place: PagePlace): boolean;
  /** The lane of a queue that the sink has made; undefined for one that is deleted again. */
  laneOf(queueId: number): RecoveredLane | undefined;
}

/** Hands everything over, and forgets the messages. */
export function handOver(recovered: Recovered, adopter: Adopter, sink: RecoverySink): void {
  sink.lastQueueId(recovered.queueIdMax);
  for (const kind of KINDS) {
    for (const value of recovered.definitions[kind].values()) sink.defined(kind, value);
  }
  for (const [queueId, found] of recovered.queues) {
    const queue = sink.queue(queueId);
    if (queue !== null) new QueueHandOver(queueId, queue, adopter).run(found);
  }
  recovered.forgetMessages();
  sink.ended();
}

/** A row that becomes a `KeptMessage` of the port. */
type Message = Placed & { ref: number };

class QueueHandOver {
  readonly #queue: QueueSink;
  readonly #adopter: Adopter;
  readonly #lane: RecoveredLane | undefined;
  readonly #message: Message;
  /** Pages of ready messages, the first one last. */
  readonly #pages: PagePlace[] = [];

  constructor(queueId: number, queue: QueueSink, adopter: Adopter) {
    this.#queue = queue;
    this.#adopter = adopter;
    this.#lane = adopter.laneOf(queueId);
    this.#message = { ...emptyRow(), ref: 0, queueId, position: 0 };
  }

  run({ positions, pages, lastPosition }: RecoveredQueue): void {
    for (const page of pages.values()) {
      if (page.delays === null) this.#pages.push(page);
      else this.#delayedPage(page);
    }
    this.#pages.sort((a, b) => b.first - a.first);
    let nextPageAt = this.#pages.at(-1)?.first ?? Infinity;
    const message = this.#message;
    positions.each((position, row) => {
      if (nextPageAt < position) nextPageAt = this.#readyPagesBefore(position);
      positions.rows.get(row, message);
      message.position = position;
      message.ref = this.#adopter.adopt(message);
      if (message.ref === 0) this.#queue.missing(1);
      else this.#give(message);
    });
    this.#readyPagesBefore(Infinity);
    const lane = this.#lane;
    if (lane !== undefined) lane.nextPosition = Math.max(lane.nextPosition, lastPosition + 1);
  }

  // Returns the first position of the next page.
  #readyPagesBefore(position: number): number {
    for (let page = this.#pages.at(-1); page !== undefined; page = this.#pages.at(-1)) {
      if (page.first >= position) return page.first;
      this.#pages.pop();
      if (this.#isAdopted(this.#lane, page)) this.#queue.readyPage(page);
      else this.#queue.missing(page.count);
    }
    return Infinity;
  }

  #delayedPage(page: PagePlace): void {
    const owner = this.#queue.delayedOwner ?? undefined;
    if (this.#isAdopted(owner, page)) this.#queue.delayedPage(page);
    else this.#queue.missing(page.count);
  }

  #isAdopted(owner: PageOwner | undefined, page: PagePlace): boolean {
    return owner !== undefined && this.#adopter.adoptPage(owner, page);
  }

  #give(message: Message): void {
    const { state } = message;
    if (state === STATE_OUT) return this.#queue.out(message);
    if (state === STATE_DELAYED) return this.#queue.delayed(message);
    const cause = deathCauseOf(state);
    if (cause === null) this.#queue.ready(message);
    else this.#queue.dying(message, cause);
  }
}
