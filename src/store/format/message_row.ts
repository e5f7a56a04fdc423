// The facts about one message of a queue as a snapshot writes them and recovery reads them, in one
// reusable object.

/** The facts about one message of a queue. */
export interface MessageRow {
  file: number;
  offset: number;
  recordBytes: number;
  state: number;
  entry: number;
  /** When its delay ends, ms; 0 unless it is delayed. */
  dueMs: number;
  delayNumber: number;
  flags: number;
  priority: number;
  bodyBytes: number;
  arrivalMs: number;
  expiryMs: number;
}

/** Returns an empty row, to be filled in. */
export function emptyRow(): MessageRow {
  return {
    file: 0,
    offset: 0,
    recordBytes: 0,
    state: 0,
    entry: 0,
    dueMs: 0,
    delayNumber: 0,
    flags: 0,
    priority: 0,
    bodyBytes: 0,
    arrivalMs: 0,
    expiryMs: 0,
  };
}
