// The wire port: how the session layer reaches a socket. runtime/ implements it for each runtime and
// the tests implement it in memory. A transport never parses and never decides when to write.

/** One accepted byte stream. */
export interface Transport {
  /**
   * Hands `buffer[0, byteCount)` to the socket and returns the buffer to fill next: the same one
   * when the bytes were taken at once, another one when the transport still needs this one.
   */
  write(buffer: Uint8Array, byteCount: number): Uint8Array;
  /** Bytes handed over that the kernel has not taken yet. */
  readonly pendingBytes: number;
  /** Stops `received` calls until {@link Transport.resume}. */
  pause(): void;
  resume(): void;
  /** Closes after everything handed over has been written. */
  end(): void;
  /** Closes now. */
  destroy(): void;
}

/** Who is at the other end. */
export interface TransportInfo {
  peerHost: string;
  peerPort: number;
  localHost: string;
  localPort: number;
  isTls: boolean;
}

/** What the runtime tells the session layer about one stream; each call is one turn. */
export interface TransportEvents {
  /** Bytes came. The buffer belongs to the receiver from now on. */
  received(bytes: Uint8Array): void;
  /** `pendingBytes` has fallen to zero after it had not been. */
  drained(): void;
  /** The stream is gone; nothing more will be called. */
  closed(): void;
}
