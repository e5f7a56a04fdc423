// Finds the holding of a queue for records that many queues hold, as after a fanout, without a
// search. Holdings opens a record here when a search gets long. So records with few holders, which
// nearly all are, cost nothing.

/** Holdings by record and queue. */
export class HolderIndex {
  readonly #byRef = new Map<number, Map<number, number>>();

  /** Whether the holders of a record are indexed. */
  has(ref: number): boolean {
    return this.#byRef.size > 0 && this.#byRef.has(ref);
  }

  /** Starts to index a record. The caller sets its holders. */
  open(ref: number): void {
    this.#byRef.set(ref, new Map());
  }

  /** Returns the holding of a queue, if the record is indexed and the queue has one. */
  get(ref: number, queueId: number): number | undefined {
    return this.#byRef.get(ref)?.get(queueId);
  }

  /** Sets the holding of a queue. Does nothing for a record that is not indexed. */
  set(ref: number, queueId: number, holding: number): void {
    if (this.#byRef.size > 0) this.#byRef.get(ref)?.set(queueId, holding);
  }

  /** Removes the holding of a queue. */
  delete(ref: number, queueId: number): void {
    if (this.#byRef.size === 0) return;
    const holders = this.#byRef.get(ref);
    if (holders === undefined) return;
    holders.delete(queueId);
    if (holders.size === 0) this.#byRef.delete(ref);
  }
}
