// The part of Bun's API that its adapters use. It is typed here, so that every type checker knows it
// without Bun's own declarations, which would replace those of the web platform in the whole program.

/** A TCP socket of Bun's own event loop. */
export interface BunSocket<Data> {
  /** Undefined until it is set. */
  data: Data | undefined;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** Returns how many bytes the kernel took; -1 when the socket is closed. */
  write(bytes: Uint8Array, byteOffset: number, byteCount: number): number;
  setNoDelay(isEnabled: boolean): boolean;
  pause(): void;
  resume(): void;
  /** Ends our side of the stream and closes the socket when the peer has ended its side. */
  end(): void;
  /** Ends our side of the stream and keeps reading. */
  shutdown(): void;
  /** Closes the socket at once. */
  terminate(): void;
}

/** The events of a listener's sockets. */
export interface BunSocketHandlers<Data> {
  open(socket: BunSocket<Data>): void;
  data(socket: BunSocket<Data>, bytes: Uint8Array): void;
  drain(socket: BunSocket<Data>): void;
  end(socket: BunSocket<Data>): void;
  error(socket: BunSocket<Data>, error: Error): void;
  close(socket: BunSocket<Data>): void;
}

/** A listening socket. */
interface BunListener {
  readonly hostname: string;
  readonly port: number;
  stop(closeActive?: boolean): void;
}

/** The functions of Bun. */
export interface BunApi {
  readonly version: string;
  listen<Data>(options: {
    hostname: string;
    port: number;
    exclusive?: boolean;
    allowHalfOpen?: boolean;
    socket: BunSocketHandlers<Data>;
  }): BunListener;
}

/** Returns Bun's API. Only for code that runs on Bun. */
export function bun(): BunApi {
  return (globalThis as unknown as { Bun: BunApi }).Bun;
}
