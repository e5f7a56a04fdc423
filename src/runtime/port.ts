// The program's interface to the machine it runs on, with one implementation per runtime behind the
// same file names (deno/, bun/, node/). server.ts, main.ts and mod.ts call it; features never ask which
// runtime they run on. Nothing here knows AMQP.

import type { Transport, TransportEvents, TransportInfo } from "../session/transport.ts";

/** A listening socket that has been bound. */
export interface Listener {
  readonly host: string;
  /** The actual port, even if port 0 was requested. */
  readonly port: number;
  /** Stops accepting and resolves when the port is free. Accepted streams stay open. */
  close(): Promise<void>;
}

/** A listener whose accepted streams may outlive it. */
export interface StreamListener extends Listener {
  /** Resolves when every accepted stream is closed. Streams still open after `graceMs` are destroyed. */
  closeStreams(graceMs: number): Promise<void>;
}

/** Takes one accepted stream. Returns the receiver of all events of that stream. */
type Accept = (transport: Transport, info: TransportInfo) => TransportEvents;

/** Decides whether one more stream may be opened. */
export interface StreamRoom {
  /** Takes room for a stream. Returns false when the stream must be refused. */
  take(kind: "amqp" | "http"): boolean;
  /** Whether the next stream would be accepted. */
  hasRoom(kind: "amqp" | "http"): boolean;
  /** Gives back the room of a stream that has been closed. */
  give(): void;
}

/** Where to listen for AMQP, and who receives the streams. */
export interface ListenOptions {
  host: string;
  port: number;
  accept: Accept;
  /** Called for every stream. When left out, all streams are accepted. */
  room?: StreamRoom;
}

/** Who sent an HTTP request. */
export interface HttpPeer {
  readonly host: string;
  readonly port: number;
  /** Breaks the connection off, so that no client takes a part of an answer for the whole. */
  drop(): void;
}

/** Answers one HTTP request. */
type HttpHandler = (request: Request, peer: HttpPeer) => Response | Promise<Response>;

/** Where to listen for HTTP, and who answers. */
export interface ServeOptions {
  host: string;
  port: number;
  handler: HttpHandler;
  /** Connections above this many are refused. */
  connectionCountMax?: number;
  /** Called for every connection. When left out, all connections are accepted. */
  room?: StreamRoom;
}

/** TCP of one runtime: the exports of its `net.ts`. */
interface Net {
  /** Binds and starts to accept. Rejects with {@linkcode ListenError}. */
  listen(options: ListenOptions): Promise<StreamListener>;
}

/** HTTP of one runtime: the exports of its `http.ts`. */
interface Http {
  /** Binds and starts to answer. Rejects with {@linkcode ListenError}. */
  serve(options: ServeOptions): Promise<Listener>;
}

/** The current process: the exports of each runtime's `process.ts`. */
export interface Process {
  /** Returns the command line arguments after the program's own name. */
  args(): string[];
  /** Returns the whole environment. Throws when it may not be read. */
  environment(): Record<string, string>;
  /** Reads a UTF-8 file. Throws when it is missing or may not be read. */
  readTextFile(path: string): string;
  /** Writes text to standard output before it returns. */
  writeOut(text: string): void;
  /** Writes text to standard error before it returns. */
  writeError(text: string): void;
  /** Calls back for SIGTERM and SIGINT. Returns a function that stops it. */
  onSignal(callback: (signal: string) => void): () => void;
  /** Calls back for an uncaught error. Returns a function that stops it. */
  onUncaught(callback: (error: unknown) => void): () => void;
  /** Ends the process now. */
  exit(code: number): never;
  processId(): number;
  /** Returns the name of this machine; `localhost` without the permission to read it. */
  hostName(): string;
  /** Returns the memory of the whole process as the operating system counts it, bytes. */
  residentBytes(): number;
}

/** The adapters of one runtime. */
export interface Runtime {
  readonly name: RuntimeName;
  readonly version: string;
  readonly net: Net;
  readonly http: Http;
  readonly process: Process;
}

/** The runtimes that have adapters. */
export type RuntimeName = "deno" | "bun" | "node";
