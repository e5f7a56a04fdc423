// A server of Deno's node:net or node:http that stops listening while there is no room for streams.
// Deno closes a refused socket only later, so a flood of refused sockets would use up all descriptors.
// A listener that once failed to accept never accepts again, without any error. The net and http
// adapters of Deno call `rest` for every refused stream.

import { Server } from "node:net";
import { BACKLOG } from "../open_streams.ts";

const LOOK_MS = 100;

/** Stops a server and starts it again. */
export class RestingServer {
  readonly #hasRoom: () => boolean;
  #server: Server | null = null;
  #where = { host: "", port: 0, backlog: BACKLOG };
  #timer: ReturnType<typeof setInterval> | undefined;
  #isStopped = false;

  /** `hasRoom` returns whether the server may listen again. */
  constructor(hasRoom: () => boolean) {
    this.#hasRoom = hasRoom;
  }

  /** Stops listening until there is room, because a stream was refused. */
  rest(server: Server): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    const address = server.address();
    if (address === null || typeof address === "string") return;
    this.#server = server;
    this.#where = { host: address.address, port: address.port, backlog: BACKLOG };
    // This closes only the port, for an HTTP server too; its own close() would also end idle
    // connections.
    Server.prototype.close.call(server);
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  // While another program uses the port, listening is tried again at each interval.
  #look(): void {
    const server = this.#server;
    if (server === null || server.listening || !this.#hasRoom()) return;
    const stop = () => this.#wake();
    server.once("listening", stop);
    server.once("error", () => server.off("listening", stop));
    server.listen(this.#where);
  }

  #wake(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends the rest for good, because the server is being closed. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }
}
