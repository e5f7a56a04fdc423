// Memory one connection takes besides messages: unfinished content and output that waits. Kept by the
// connection, counted toward the node's memory watermark. Limits nothing itself.

import type { Broker } from "../broker/broker.ts";

/** An entry in the broker's account of memory. */
export class HeldMemory {
  /** Bytes of unfinished content. */
  contentBytes = 0;
  readonly #broker: Broker;
  #reportedBytes = 0;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Tells the broker how much it is now, together with the output that waits. */
  report(outputBytes: number): void {
    const bytes = this.contentBytes + outputBytes;
    this.#broker.extraMemoryBytes += bytes - this.#reportedBytes;
    this.#reportedBytes = bytes;
  }
}
