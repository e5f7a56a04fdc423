// Blocking of publishers while memory or disk is short: the connection is told with connection.blocked
// if it can take that, and not read until there is room again. Publishing begins it, the end of a turn
// ends it. When something counts as short is the broker's to say.

import { writeConnectionBlocked, writeConnectionUnblocked } from "../amqp/methods_gen.ts";
import type { Connection } from "./connection.ts";
import { STATE_RUNNING } from "./connection_state.ts";
import { HOLD_MEMORY } from "./input.ts";

/** Something is short, as `reason` says, and the client has published. */
export function block(connection: Connection, reason: string): void {
  if ((connection.input.holds & HOLD_MEMORY) !== 0) return;
  connection.hold(HOLD_MEMORY);
  connection.context.blocked.push(connection);
  if (!connection.capabilities.connectionBlocked) return;
  writeConnectionBlocked(connection.writer(), 0, reason);
}

/** There is room again. A connection that has begun to close since is held no more, and told nothing. */
export function unblock(connection: Connection): void {
  const isTold = connection.capabilities.connectionBlocked;
  if (isTold && connection.state === STATE_RUNNING) {
    writeConnectionUnblocked(connection.writer(), 0);
  }
  connection.unhold(HOLD_MEMORY);
}
