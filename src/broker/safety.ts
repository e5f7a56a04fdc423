// What is safe of all that clients are waiting for. Sessions ask it before they confirm or answer. It
// is the only way from a session to the store: sessions know batches by number and no store.

import type { Store } from "../store/port.ts";

/** Tells what became of the batches of the store. */
export class Safety {
  readonly #store: Store;
  readonly #letters: { readonly hasFresh: boolean };

  /** `letters`: the dead letters of the node, which enter the open batch when the turn dispatches. */
  constructor(store: Store, letters: { readonly hasFresh: boolean }) {
    this.#store = store;
    this.#letters = letters;
  }

  /** Number of the batch that takes the changes of this turn. */
  get openBatch(): number {
    return this.#store.openBatch;
  }

  /** Every batch up to and including this number is decided: safe, unless it has failed. */
  get safeBatch(): number {
    return this.#store.safeBatch;
  }

  /** Every batch up to and including this number is on the disk. */
  get storedBatch(): number {
    return this.#store.storedBatch;
  }

  /** The last batch that removes a definition; 0 when none has. */
  get undefinitionBatch(): number {
    return this.#store.undefinitionBatch;
  }

  /** Whether a decided batch failed. What it holds must be refused to the clients that wait for it. */
  isFailed(batch: number): boolean {
    return this.#store.isFailed(batch);
  }

  /** Whether nothing that must survive can be kept at the moment. */
  get isReadOnly(): boolean {
    return this.#store.isReadOnly;
  }

  /** Whether this turn has changed anything that a crash could undo. */
  get hasChanges(): boolean {
    return !this.#store.isBatchEmpty || this.#letters.hasFresh;
  }

  /** Has the open batch made safe soon, because a client waits for it, and returns its number. */
  wantOpenBatch(): number {
    this.#store.wantSync();
    return this.#store.openBatch;
  }
}
