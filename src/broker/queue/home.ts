// What a queue needs from its vhost and from the node. VHost and Broker have these members; the files
// of this folder know nothing else of them.

import type { RetryBroker } from "../retry/home.ts";
import type { DeadLetterDesk } from "./dead_letter.ts";
import type { Delivery } from "./delivery.ts";
import type { ExpirySweeps } from "./expiry_sweeps.ts";
import type { Queue } from "./queue.ts";

/** The parts of the node that a queue uses. */
export interface QueueBroker extends RetryBroker {
  readonly deadLetters: DeadLetterDesk;
  readonly expirySweeps: ExpirySweeps;
  /** The one Delivery, filled anew for each message that is delivered. */
  readonly delivery: Delivery;
  /** Bytes of memory for messages that stand apart because of the size of their header. */
  apartBytes: number;
  /** Has the queue dispatched before the turn ends. */
  schedule(queue: Queue): void;
  /** Runs `resume` when the next turn begins. */
  resumeInTurn(resume: () => void): void;
}

/** The vhost of a queue. */
export interface QueueVHost {
  readonly name: string;
  readonly broker: QueueBroker;
  /** Removes a queue that has ended: with its last consumer, or because nobody uses it. */
  removeQueue(queue: Queue): number;
}
