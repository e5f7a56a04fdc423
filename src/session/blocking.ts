// Blocks publishers while memory or disk is short: the connection is not read until there is room
// again, and a client with the capability is told with connection.blocked. A publish begins it, and the
// end of a turn ends it. The broker decides when something is short.

import { writeConnectionBlocked, writeConnectionUnblocked } from "../amqp/methods_gen.ts";
import type { Connection } from "./connection.ts";
import { STATE_RUNNING } from "./connection_state.ts";
import { HOLD_MEMORY } from "./input.ts";

/** Blocks a client that has published while something is short; `reason` says what. */
export function block(connection: Connection, reason: string): void {
  if ((connection.input.holds & HOLD_MEMORY) !== 0) return;
  connection.hold(HOLD_MEMORY);
  connection.context.blocked.push(connection);
  if (!connection.capabilities.connectionBlocked) return;
  writeConnectionBlocked(connection.writer(), 0, reason);
}

/**
 * Unblocks a client because there is room again. A connection that has begun to close meanwhile is no
 * longer held, and it is told nothing.
 */
export function unblock(connection: Connection): void {
  const isTold = connection.capabilities.connectionBlocked;
  if (isTold && connection.state === STATE_RUNNING) {
    writeConnectionUnblocked(connection.writer(), 0);
  }
  connection.unhold(HOLD_MEMORY);
}
