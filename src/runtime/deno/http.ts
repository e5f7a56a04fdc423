// HTTP for Deno: the node:http adapter, which bounds connections in number and time. Deno's own server
// does not report connections and fails when it cannot accept one.

import { serve as serveOnNode } from "../node/http.ts";
import type { Listener, ServeOptions } from "../port.ts";
import { permitListening } from "./permission.ts";
import { RestingServer } from "./resting_server.ts";

/** Binds and starts to answer. Rejects with {@linkcode ListenError}. */
export async function serve(options: ServeOptions): Promise<Listener> {
  await permitListening("HTTP", options);
  const resting = new RestingServer(() => options.room?.hasRoom("http") ?? true);
  const listener = await serveOnNode(options, { onRefused: (server) => resting.rest(server) });
  const close = () => {
    resting.stop();
    return listener.close();
  };
  return { ...listener, close };
}
