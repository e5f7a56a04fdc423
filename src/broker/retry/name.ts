// What names a delayed message while it is delayed: its due time and the number of its delay. Both stay
// the same in memory, in a page and after a restart. Names sort in the order in which the messages
// go back. The time alone says in which pages a message may be; the number alone might be used again
// after a restart.

/** The name of a delayed message. */
export interface RetryName {
  /** Broker time at which the delay ends, ms. */
  readonly dueMs: number;
  /** Number of the delay. */
  readonly number: number;
}

/** The names behind one name, up to another one, which need not exist. */
export interface RetryRange {
  readonly after: RetryName;
  readonly until: RetryName;
}

/** Compares by the order in which delayed messages go back. */
export function compareRetries(a: RetryName, b: RetryName): number {
  return a.dueMs - b.dueMs || a.number - b.number;
}

/** Returns a name as text, for operators. */
export function formatRetryName({ dueMs, number }: RetryName): string {
  return `${dueMs}-${number}`;
}

/** Returns the name that a text stands for; null when it is none. */
export function parseRetryName(text: string): RetryName | null {
  const match = /^(\d{1,16})-(\d{1,16})$/.exec(text);
  return match === null ? null : { dueMs: Number(match[1]), number: Number(match[2]) };
}
