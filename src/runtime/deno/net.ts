// TCP for Deno: the node:net adapter, whose writes try the system call at once; Deno's own
// connections queued output without a bound. Only asking for the permission is Deno's own.

import { ListenError } from "../listen_error.ts";
import { listen as listenOnNode } from "../node/net.ts";
import type { ListenOptions, StreamListener } from "../port.ts";

/** Binds and starts accepting; rejects with {@linkcode ListenError}. */
export async function listen(options: ListenOptions): Promise<StreamListener> {
  // node:net throws a missing permission where nobody can catch it, so it is asked for beforehand.
  const host = `${options.host}:${options.port}`;
  const { state } = await Deno.permissions.request({ name: "net", host });
  if (state !== "granted") throw new ListenError("AMQP", options, { code: "NotCapable" });
  return await listenOnNode(options);
}
