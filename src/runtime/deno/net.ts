// TCP for Deno: the node:net adapter, whose writes try the system call at once. Deno's own connections
// queue output without a bound.

import { listen as listenOnNode } from "../node/net.ts";
import type { ListenOptions, StreamListener } from "../port.ts";
import { permitListening } from "./permission.ts";
import { RestingServer } from "./resting_server.ts";

/** Binds and starts to accept. Rejects with {@linkcode ListenError}. */
export async function listen(options: ListenOptions): Promise<StreamListener> {
  await permitListening("AMQP", options);
  const resting = new RestingServer(() => options.room?.hasRoom("amqp") ?? true);
  const listener = await listenOnNode(options, (server) => resting.rest(server));
  const close = () => {
    resting.stop();
    return listener.close();
  };
  return { ...listener, close };
}
