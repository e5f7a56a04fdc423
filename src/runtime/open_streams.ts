// The open streams that one listener has accepted, so that stopping can wait for their last bytes and
// then leave nothing behind, and what the listeners of all runtimes have in common. The net adapters
// add and remove streams; it never reads or writes.

/** Connections that may wait until the listener accepts them. */
export const BACKLOG = 1024;

/**
 * After our last byte a peer has this long to close its side, so that a reset does not destroy that
 * byte, ms.
 */
export const LINGER_MS = 2_000;

/** The part of a stream that is needed to stop it. */
export interface Destroyable {
  destroy(): void;
}

/** Open streams of one listener. */
export class OpenStreams {
  readonly #streams = new Set<Destroyable>();
  #onEmpty: (() => void) | null = null;

  /** Adds a stream that was accepted. */
  add(stream: Destroyable): void {
    this.#streams.add(stream);
  }

  /** Removes a stream that was closed. */
  delete(stream: Destroyable): void {
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#onEmpty?.();
  }

  /** Resolves when every stream is closed. Streams still open after `graceMs` are destroyed. */
  async close(graceMs: number): Promise<void> {
    if (this.#streams.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const stream of [...this.#streams]) stream.destroy();
      }, graceMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        this.#onEmpty = null;
        resolve();
      };
    });
  }
}
