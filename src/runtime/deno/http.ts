// HTTP for Deno: the node:http adapter, which bounds connections in number and time; Deno's own server
// says nothing of connections, and fails when it cannot accept one. Only asking for the permission is
// Deno's own.

import { formatAddress, ListenError } from "../listen_error.ts";
import { serve as serveOnNode } from "../node/http.ts";
import type { Listener, ServeOptions } from "../port.ts";
import { RestingServer } from "./resting_server.ts";

/** Binds and starts answering; rejects with {@linkcode ListenError}. */
export async function serve(options: ServeOptions): Promise<Listener> {
  const host = formatAddress(options.host, options.port);
  // node:http throws a missing permission where nobody can catch it, so it is asked for beforehand.
  const { state } = await Deno.permissions.request({ name: "net", host });
  if (state !== "granted") throw new ListenError("HTTP", options, { code: "NotCapable" });
  const resting = new RestingServer(() => options.room?.hasRoom("http") ?? true);
  const listener = await serveOnNode(options, { onRefused: (server) => resting.rest(server) });
  const close = () => {
    resting.stop();
    return listener.close();
  };
  return { ...listener, close };
}
