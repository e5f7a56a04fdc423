// TCP for Deno: the node:net adapter, whose writes try the system call at once; Deno's own
// connections queued output without a bound. Only asking for the permission is Deno's own.

import { formatAddress, ListenError } from "../listen_error.ts";
import { listen as listenOnNode } from "../node/net.ts";
import type { ListenOptions, StreamListener } from "../port.ts";
import { RestingServer } from "./resting_server.ts";

/** Binds and starts accepting; rejects with {@linkcode ListenError}. */
export async function listen(options: ListenOptions): Promise<StreamListener> {
  // node:net throws a missing permission where nobody can catch it, so it is asked for beforehand.
  if (!await isPermitted(options)) throw new ListenError("AMQP", options, { code: "NotCapable" });
  const resting = new RestingServer(() => options.room?.hasRoom("amqp") ?? true);
  const listener = await listenOnNode(options, (server) => resting.rest(server));
  const close = () => {
    resting.stop();
    return listener.close();
  };
  return { ...listener, close };
}

async function isPermitted(options: ListenOptions): Promise<boolean> {
  const host = formatAddress(options.host, options.port);
  try {
    return (await Deno.permissions.request({ name: "net", host })).state === "granted";
  } catch (error) {
    throw new ListenError("AMQP", options, error);
  }
}
