// Room for streams as tests want it: there is some or there is none, and what was taken is counted. The
// tests of the adapters for TCP and HTTP use it.

import type { StreamRoom } from "../../src/runtime/port.ts";

/** A {@linkcode StreamRoom} that a test opens and closes. */
export class StubRoom implements StreamRoom {
  isOpen = false;
  /** Streams that have room now. */
  takenCount = 0;
  /** Resolves when a stream has given its room back. */
  readonly given: Promise<void>;
  #onGiven = () => {};

  constructor() {
    this.given = new Promise((resolve) => this.#onGiven = resolve);
  }

  take(): boolean {
    if (this.isOpen) this.takenCount++;
    return this.isOpen;
  }

  hasRoom(): boolean {
    return this.isOpen;
  }

  give(): void {
    this.takenCount--;
    this.#onGiven();
  }
}
