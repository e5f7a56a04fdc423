// The wire port: how the session layer reaches a socket. runtime/ implements it for each runtime, and
// the tests implement it in memory. A transport never parses and never decides when to write.

/** One accepted byte stream. */
export interface Transport {
  /**
   * Gives `buffer[0, byteCount)` to the socket and returns the buffer to fill next: the same one when
   * the bytes were taken at once, another one when the transport still needs this one.
   */
  write(buffer: Uint8Array, byteCount: number): Uint8Array;
  /** Bytes given to the transport that the kernel has not taken yet. */
  readonly pendingBytes: number;
  /** Stops `received` calls until {@link Transport.resume}. */
  pause(): void;
  resume(): void;
  /** Closes the stream after all bytes given to it have been written. */
  end(): void;
  /** Closes the stream at once. */
  destroy(): void;
}

/** The addresses of both ends of a stream. */
export interface TransportInfo {
  peerHost: string;
  peerPort: number;
  localHost: string;
  localPort: number;
  isTls: boolean;
}

/** The events of one stream. Each call is one turn. */
export interface TransportEvents {
  /** Bytes have arrived. The buffer belongs to the receiver from now on. */
  received(bytes: Uint8Array): void;
  /** `pendingBytes` has fallen to zero. */
  drained(): void;
  /** The stream is gone; no further event follows. */
  closed(): void;
}
