// Counts connections that have not logged in. Anybody can open them, so their number is limited, in
// total and per address. The engine calls it before it takes a stream; a login or the end of a stream
// makes room.

import type { Broker } from "../broker/broker.ts";
import { networkOf } from "../broker/access/peer_network.ts";
import type { Connection } from "./connection.ts";

/** The refusals are logged at most this often, ms. */
const LOG_INTERVAL_MS = 10_000;

/** Counts the connections of one engine that have not logged in. */
export class Newcomers {
  readonly #broker: Broker;
  readonly #countOf = new Map<string, number>();
  #count = 0;
  #refusedCount = 0;
  #loggedAtMs = -Infinity;

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Number of connections that have not logged in. */
  get count(): number {
    return this.#count;
  }

  /** Takes one more connection from this address. Returns false when there are too many. */
  admit(peerHost: string): boolean {
    const { handshakeCountMax, handshakesPerAddressMax } = this.#broker.limits;
    const network = networkOf(peerHost);
    const count = this.#countOf.get(network) ?? 0;
    if (this.#count >= handshakeCountMax || count >= handshakesPerAddressMax) {
      this.#refused(network, count);
      return false;
    }
    this.#count++;
    this.#countOf.set(network, count + 1);
    return true;
  }

  /** Called when an admitted connection has logged in or is gone. */
  left(connection: Connection): void {
    if (!connection.isNewcomer) return;
    connection.isNewcomer = false;
    const network = networkOf(connection.info.peerHost);
    const count = this.#countOf.get(network)! - 1;
    this.#count--;
    if (count > 0) this.#countOf.set(network, count);
    else this.#countOf.delete(network);
  }

  #refused(network: string, fromAddress: number): void {
    const { nowMs, logger } = this.#broker;
    this.#refusedCount++;
    if (nowMs - this.#loggedAtMs < LOG_INTERVAL_MS) return;
    this.#loggedAtMs = nowMs;
    logger.log("warn", "too many connections that have not logged in: new ones are refused", {
      address: network,
      fromAddress,
      inAll: this.#count,
      refused: this.#refusedCount,
    });
    this.#refusedCount = 0;
  }
}
