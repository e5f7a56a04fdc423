// The states of a connection as numbers, and how RabbitMQ spells them in errors. Only connection.ts
// and handlers/connection.ts move a connection from one to the next.
//
//   header ─> starting ─> tuning ─> opening ─> running ─> closing ─> closed
//     │           │          │         │           └────> leaving ──────^  client closes
//     └───────────┴──────────┴─────────┴── any error ─> closing or refused ─> closed

/** The protocol header has not come. */
export const STATE_HEADER = 0;
/** connection.start is sent. */
export const STATE_STARTING = 1;
/** connection.tune is sent. */
export const STATE_TUNING = 2;
/** tune-ok came, connection.open has not. */
export const STATE_OPENING = 3;
/** In use. */
export const STATE_RUNNING = 4;
/** We have sent connection.close. */
export const STATE_CLOSING = 5;
/** We have answered the client's connection.close: it is to end the stream. */
export const STATE_LEAVING = 6;
/** Not trusted, not answered: waits to be dropped. */
export const STATE_REFUSED = 7;
/** Nothing more is said; the stream is ending or gone. */
export const STATE_CLOSED = 8;

/** Names by state. */
export const STATE_NAMES: readonly string[] = [
  "pre_init",
  "starting",
  "tuning",
  "opening",
  "running",
  "closing",
  "leaving",
  "refused",
  "closed",
];
