// How large content headers may be. A content header is one frame, so a client can be given a message
// only if the whole header fits the frame size that it has agreed to. Publishes and dead letters are kept
// so small that clients with the node's own frame size can have them; dispatch looks at each client's.

import { FRAME_OVERHEAD } from "../amqp/frame.ts";
import type { Limits } from "./limits.ts";

/** What we may add to the headers of a published message: a delivery count, a history of deaths. */
const RESERVE_BYTES = 4096;
// With small frames there is less room for it.
const RESERVE_SHARE = 4;

/** Bytes of the largest content header payload that any client of the node can be given. */
export function deadLetterHeaderBytesMax({ frameBytesMax }: Limits): number {
  return frameBytesMax - FRAME_OVERHEAD;
}

/** The same for a message that is being published: room is left for what the broker adds to it. */
export function publishHeaderBytesMax(limits: Limits): number {
  const most = deadLetterHeaderBytesMax(limits);
  return most - Math.min(RESERVE_BYTES, Math.floor(most / RESERVE_SHARE));
}
