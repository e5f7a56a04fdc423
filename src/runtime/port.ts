// What the program needs from the machine it runs on, one implementation per runtime behind the same
// file names (deno/, bun/, node/). server.ts, main.ts and mod.ts call it; features never ask which
// runtime is underneath. Nothing in here knows AMQP.

import type { Transport, TransportEvents, TransportInfo } from "../session/transport.ts";

/** A socket that accepts, after it has been bound. */
export interface Listener {
  readonly host: string;
  /** The real port, also when 0 was asked for. */
  readonly port: number;
  /** Stops accepting and resolves when the port is free; accepted streams live on. */
  close(): Promise<void>;
}

/** A listener for streams that outlive their acceptance. */
export interface StreamListener extends Listener {
  /** Resolves when every accepted stream is gone; what is left after `graceMs` is destroyed. */
  closeStreams(graceMs: number): Promise<void>;
}

/** Takes one accepted stream; what it returns is told everything about that stream. */
export type Accept = (transport: Transport, info: TransportInfo) => TransportEvents;

/** Says whether one more stream may stay open. */
export interface StreamRoom {
  /** False when the stream is to be refused. */
  take(kind: "amqp" | "http"): boolean;
  /** Whether the next one would be taken. */
  hasRoom(kind: "amqp" | "http"): boolean;
  /** A stream that had its place is gone. */
  give(): void;
}

/** Where to listen for AMQP and whom to give the streams to. */
export interface ListenOptions {
  host: string;
  port: number;
  accept: Accept;
  /** Asked for every stream; all have room when absent. */
  room?: StreamRoom;
}

/** Who sent an HTTP request. */
export interface HttpPeer {
  readonly host: string;
  readonly port: number;
}

/** Answers one HTTP request. */
export type HttpHandler = (request: Request, peer: HttpPeer) => Response | Promise<Response>;

/** Where to listen for HTTP and who answers. */
export interface ServeOptions {
  host: string;
  port: number;
  handler: HttpHandler;
  /** Connections above this many are refused. */
  connectionCountMax?: number;
  /** Asked for every connection; all have room when absent. */
  room?: StreamRoom;
}

/** TCP of one runtime: the exports of its `net.ts`. */
export interface Net {
  /** Binds and starts accepting; rejects with {@linkcode ListenError}. */
  listen(options: ListenOptions): Promise<StreamListener>;
}

/** HTTP of one runtime: the exports of its `http.ts`. */
export interface Http {
  /** Binds and starts answering; rejects with {@linkcode ListenError}. */
  serve(options: ServeOptions): Promise<Listener>;
}

/** The process around us: the exports of each runtime's `process.ts`. */
export interface Process {
  /** Command line arguments after the program's own name. */
  args(): string[];
  /** The whole environment; throws when it may not be read. */
  environment(): Record<string, string>;
  /** Reads a UTF-8 file; throws when it is missing or may not be read. */
  readTextFile(path: string): string;
  /** Writes text to standard output now. */
  writeOut(text: string): void;
  /** Writes text to standard error now. */
  writeError(text: string): void;
  /** Calls back for SIGTERM and SIGINT; returns how to stop listening. */
  onSignal(callback: (signal: string) => void): () => void;
  /** Calls back for an error nobody caught; returns how to stop listening. */
  onUncaught(callback: (error: unknown) => void): () => void;
  /** Ends the process now. */
  exit(code: number): never;
  processId(): number;
  /** Name of this machine; `localhost` when it may not be asked. */
  hostName(): string;
  /** Memory of the whole process as the operating system counts it, bytes. */
  residentBytes(): number;
}

/** Everything one runtime offers. */
export interface Runtime {
  readonly name: RuntimeName;
  readonly version: string;
  readonly net: Net;
  readonly http: Http;
  readonly process: Process;
}

/** The runtimes there are adapters for. */
export type RuntimeName = "deno" | "bun" | "node";
