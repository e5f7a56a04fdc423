// A message on its way from a queue to its dead-letter exchange, and the desk of the node that takes it.
// Queue gives messages up; dead_letters/ publishes them.

import type { DeathCause } from "../../store/port.ts";
import type { Queue } from "./queue.ts";

/**
 * Decided in this turn: a crash forgets the letter unless it is published or entered before the commit.
 */
export const LETTER_FRESH = 0;
/** The store knows that the message is being dead-lettered. */
export const LETTER_ENTERED = 1;
/** The letter is published or lost. */
export const LETTER_DONE = 2;

/** A message on its way to a dead-letter exchange. */
export interface DeadLetter {
  queue: Queue;
  ref: number;
  /** Position in the queue; -1 when the message was refused and never stood in it. */
  position: number;
  /**
   * The entry of the waiting message, with ENTRY_UNSPENT if it was unacked, because that delivery is
   * not counted.
   */
  entry: number;
  reason: DeathCause;
  /** One of `LETTER_*`. */
  state: number;
}

/** Takes the dead letters of all queues of a node. */
export interface DeadLetterDesk {
  /** Adds a message that a queue has given up. */
  add(letter: DeadLetter): void;
  /** Enters the letters that this turn has decided and not published into the open batch. */
  enter(): void;
}
