// A wire in memory between a test client and the engine: a Transport whose bytes land in the client at
// once, or wait like in a kernel's buffer while the client does not read. Everything is synchronous;
// what a real socket tells later goes through the loop of the test.

import type { Transport, TransportEvents } from "../../src/session/transport.ts";

/** Receives what the server writes. */
export interface WireClient {
  received(bytes: Uint8Array): void;
  /** The server ended the stream. */
  closed(): void;
}

/** Both ends of one stream. */
export class MemoryWire implements Transport {
  /** How often the server wrote. */
  writeCount = 0;
  isPaused = false;
  /** The server may not be told of anything any more. */
  isClosed = false;
  /** Bytes the client has sent that the server was not ready to read. */
  unreadBytes = 0;
  readonly #client: WireClient;
  readonly #soon: (callback: () => void) => void;
  #events: TransportEvents | null = null;
  #isClientReading = true;
  #toClient: Uint8Array[] = [];
  #toServer: Uint8Array[] = [];
  #isEnding = false;
  pendingBytes = 0;

  constructor(client: WireClient, soon: (callback: () => void) => void) {
    this.#client = client;
    this.#soon = soon;
  }

  /** The engine has accepted the stream. */
  attach(events: TransportEvents): void {
    this.#events = events;
  }

  // --- the server's end

  write(buffer: Uint8Array, byteCount: number): Uint8Array {
    if (this.isClosed || this.#isEnding) return buffer;
    this.writeCount++;
    const bytes = buffer.slice(0, byteCount);
    // Whoever reads what it should not have kept sees this at once.
    buffer.fill(0xee, 0, byteCount);
    if (this.#isClientReading) this.#client.received(bytes);
    else {
      this.#toClient.push(bytes);
      this.pendingBytes += byteCount;
    }
    return buffer;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.#soon(() => this.#pump());
  }

  end(): void {
    this.#isEnding = true;
    if (this.pendingBytes === 0) this.destroy();
  }

  destroy(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#toClient = [];
    this.pendingBytes = 0;
    this.#soon(() => this.#events?.closed());
    this.#client.closed();
  }

  // --- the client's end

  /** Sends bytes to the server. */
  send(bytes: Uint8Array): void {
    if (this.isClosed) return;
    this.#toServer.push(bytes.slice());
    this.unreadBytes += bytes.length;
    this.#pump();
  }

  #pump(): void {
    while (!this.isPaused && !this.isClosed && this.#toServer.length > 0) {
      const bytes = this.#toServer.shift()!;
      this.unreadBytes -= bytes.length;
      this.#events?.received(bytes);
    }
  }

  /** Whether everything the client has sent has been run. */
  get isIdle(): boolean {
    return !this.isPaused && !this.isClosed && this.unreadBytes === 0;
  }

  /** Whether the client takes what the server writes. */
  get isClientReading(): boolean {
    return this.#isClientReading;
  }

  /** The client takes nothing from now on: the server's bytes wait. */
  stopReading(): void {
    this.#isClientReading = false;
  }

  /** The client takes what waits. */
  read(): void {
    this.#isClientReading = true;
    const waiting = this.#toClient;
    this.#toClient = [];
    this.pendingBytes = 0;
    for (const bytes of waiting) this.#client.received(bytes);
    if (this.#isEnding) this.destroy();
    else if (waiting.length > 0) this.#events?.drained();
  }

  /** The client takes about `byteCount` of what waits, in whole writes, and then stops again. */
  readSome(byteCount: number): void {
    let taken = 0;
    while (taken < byteCount && this.#toClient.length > 0) {
      const bytes = this.#toClient.shift()!;
      taken += bytes.length;
      this.pendingBytes -= bytes.length;
      this.#client.received(bytes);
    }
    if (taken > 0 && this.pendingBytes === 0) this.#events?.drained();
  }

  /** Shows the client what waits without taking it: for tests that must know what was on its way. */
  peek(): void {
    for (const bytes of this.#toClient.splice(0)) this.#client.received(bytes);
  }

  /** The client is gone. */
  drop(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#events?.closed();
  }
}
