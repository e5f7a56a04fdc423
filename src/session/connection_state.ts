// The states of a connection as numbers, and their names in RabbitMQ's errors. Only connection.ts,
// handshake.ts and handlers/connection.ts change the state of a connection.
//
//   header ─> starting ─> tuning ─> opening ─> running ─> closing ─> closed
//     │           │          │         │           └────> leaving ──────^  client closes
//     └───────────┴──────────┴─────────┴── any error ─> closing or refused ─> closed

/** The protocol header has not arrived. */
export const STATE_HEADER = 0;
/** connection.start is sent. */
export const STATE_STARTING = 1;
/** connection.tune is sent. */
export const STATE_TUNING = 2;
/** tune-ok has arrived, connection.open has not. */
export const STATE_OPENING = 3;
/** The connection is open and in use. */
export const STATE_RUNNING = 4;
/** We have sent connection.close. */
export const STATE_CLOSING = 5;
/** We have answered the client's connection.close, and the client must end the stream. */
export const STATE_LEAVING = 6;
/** The login was refused without an answer; the stream waits to be dropped. */
export const STATE_REFUSED = 7;
/** Nothing more is sent; the stream is ending or gone. */
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
