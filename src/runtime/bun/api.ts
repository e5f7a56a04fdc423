// The part of Bun's API that its adapters use, typed here so that every type checker knows it without
// Bun's own declarations, which would replace those of the web platform in the whole program.

/** A TCP socket of Bun's own event loop. */
export interface BunSocket<Data> {
  /** Undefined until somebody sets it. */
  data: Data | undefined;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** Returns how many bytes the kernel took; -1 when the socket is gone. */
  write(bytes: Uint8Array, byteOffset: number, byteCount: number): number;
  setNoDelay(isEnabled: boolean): boolean;
  pause(): void;
  resume(): void;
  /** Sends our end of the stream and closes once the other side has closed. */
  end(): void;
  /** Sends our end of the stream and leaves reading open. */
  shutdown(): void;
  /** Closes now. */
  terminate(): void;
}

/** What Bun tells about the sockets of a listener. */
export interface BunSocketHandlers<Data> {
  open(socket: BunSocket<Data>): void;
  data(socket: BunSocket<Data>, bytes: Uint8Array): void;
  drain(socket: BunSocket<Data>): void;
  end(socket: BunSocket<Data>): void;
  error(socket: BunSocket<Data>, error: Error): void;
  close(socket: BunSocket<Data>): void;
}

/** Something that listens. */
export interface BunListener {
  readonly hostname: string;
  readonly port: number;
  stop(closeActive?: boolean): void;
}

/** The functions themselves. */
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

/** Bun itself; only to be called where the runtime is Bun. */
export function bun(): BunApi {
  return (globalThis as unknown as { Bun: BunApi }).Bun;
}
