// What a vhost needs from the node. Broker has these members; the files of this folder know nothing
// else of it.

import type { QueueBroker } from "../queue/home.ts";
import type { VHost } from "./vhost.ts";

/** The parts of the node that a vhost uses. */
export interface TopologyBroker extends QueueBroker {
  readonly vhosts: ReadonlyMap<string, VHost>;
  /** Returns an id that no queue of this node has had. */
  takeQueueId(): number;
}
