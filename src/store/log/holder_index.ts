// Which holding a queue has of a record that many queues hold, as a fan-out makes them: looked up instead
// of searched for. Holdings makes an entry when a search gets long, so records with a few holders, which
// are nearly all, cost nothing.

/** Holdings by record and queue. */
export class HolderIndex {
  readonly #byRef = new Map<number, Map<number, number>>();

  /** Whether it knows the holders of a record. */
  has(ref: number): boolean {
    return this.#byRef.size > 0 && this.#byRef.has(ref);
  }

  /** Knows a record from now on; its holders are to be set. */
  open(ref: number): void {
    this.#byRef.set(ref, new Map());
  }

  /** The holding of a queue, if the record is known and it has one. */
  get(ref: number, queueId: number): number | undefined {
    return this.#byRef.get(ref)?.get(queueId);
  }

  /** Says which holding a queue has; nothing for a record that is not known. */
  set(ref: number, queueId: number, holding: number): void {
    if (this.#byRef.size > 0) this.#byRef.get(ref)?.set(queueId, holding);
  }

  /** The queue has none any more. */
  delete(ref: number, queueId: number): void {
    if (this.#byRef.size === 0) return;
    const holders = this.#byRef.get(ref);
    if (holders === undefined) return;
    holders.delete(queueId);
    if (holders.size === 0) this.#byRef.delete(ref);
  }
}
