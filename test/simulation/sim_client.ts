// The client of one simulated actor: shows its owner everything that comes, at the moment at which it
// comes, and keeps only answers for whoever waits for them.

import * as M from "../../src/amqp/methods_gen.ts";
import type { Incoming } from "../support/amqp_client.ts";
import { AmqpClient } from "../support/amqp_client.ts";

/** What comes without having been asked for. */
const UNASKED = new Set([
  M.BASIC_DELIVER,
  M.BASIC_RETURN,
  M.BASIC_ACK,
  M.BASIC_NACK,
  M.BASIC_CANCEL,
  M.CHANNEL_CLOSE,
  M.CONNECTION_CLOSE,
  M.CONNECTION_BLOCKED,
  M.CONNECTION_UNBLOCKED,
]);

/** A client with an owner. */
export class SimClient extends AmqpClient {
  readonly #onUnasked: (incoming: Incoming) => void;

  constructor(onUnasked: (incoming: Incoming) => void) {
    super();
    this.#onUnasked = onUnasked;
  }

  override arrived(incoming: Incoming): void {
    if (UNASKED.has(incoming.key)) this.#onUnasked(incoming);
    else super.arrived(incoming);
  }
}
