// A server of Deno's node:net or node:http that stops listening while there is no room for streams.
// Deno closes a refused socket only later, so a flood of them would use up every descriptor, and a
// listener that cannot accept once never accepts again, without a word. The net and http adapters of
// Deno call `rest` for every refused stream.

import { Server } from "node:net";

const LOOK_MS = 100;
const BACKLOG = 1024;

/** Stops a server and starts it again. */
export class RestingServer {
  readonly #hasRoom: () => boolean;
  #server: Server | null = null;
  #where = { host: "", port: 0, backlog: BACKLOG };
  #timer: ReturnType<typeof setInterval> | undefined;
  #isStopped = false;

  /** `hasRoom` says when the server may listen again. */
  constructor(hasRoom: () => boolean) {
    this.#hasRoom = hasRoom;
  }

  /** A stream was refused: listens no more until there is room. */
  rest(server: Server): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    const address = server.address();
    if (address === null || typeof address === "string") return;
    this.#server = server;
    this.#where = { host: address.address, port: address.port, backlog: BACKLOG };
    // Of an HTTP server too only the port is closed, not the connections that are idle.
    Server.prototype.close.call(server);
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  // A port that somebody else has taken meanwhile is tried again and again.
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

  /** The server is to be closed for good. */
  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }
}
