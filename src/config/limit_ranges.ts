// The range of every limit that a person may set. The table of settings is made from it. A limit
// that is added to broker/limits.ts does not compile until it is here. It never holds a default.

import { type Limits, MEMORY_BYTES_MIN } from "../broker/limits.ts";

const ANY_COUNT_MAX = Number.MAX_SAFE_INTEGER;
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Smallest and largest accepted value of one limit, and its description. */
export interface LimitRange {
  readonly min: number;
  readonly max: number;
  readonly help: string;
}

/** Every limit by its name. */
export const LIMIT_RANGES: Readonly<Record<keyof Limits, LimitRange>> = {
  connectionCountMax: { min: 1, max: 1_048_576, help: "connections" },
  httpConnectionCountMax: { min: 1, max: 1_048_576, help: "connections to the HTTP API" },
  channelMax: { min: 1, max: 65_535, help: "channels per connection" },
  frameBytesMax: { min: 4096, max: 16_777_216, help: "bytes of a frame, as negotiated" },
  heartbeatSeconds: { min: 0, max: 65_535, help: "heartbeat offered to clients, 0 = none" },
  handshakeMs: { min: 1, max: TIMER_MS_MAX, help: "time from connecting to connection.open" },
  handshakeCountMax: { min: 1, max: ANY_COUNT_MAX, help: "connections that have not logged in" },
  handshakesPerAddressMax: { min: 1, max: ANY_COUNT_MAX, help: "those of them from one address" },
  queueCountMax: { min: 1, max: ANY_COUNT_MAX, help: "queues" },
  exchangeCountMax: { min: 8, max: ANY_COUNT_MAX, help: "exchanges, predeclared ones included" },
  bindingCountMax: { min: 1, max: ANY_COUNT_MAX, help: "bindings" },
  consumersPerChannelMax: { min: 1, max: ANY_COUNT_MAX, help: "consumers of one channel" },
  messageBytesMax: { min: 1, max: 536_870_912, help: "bytes of one message's body" },
  unfinishedBytesMax: { min: 1, max: ANY_COUNT_MAX, help: "begun content of one connection" },
  unackedPerChannelMax: { min: 1, max: 16_777_216, help: "unacknowledged messages of one channel" },
  delayedPerQueueMax: {
    min: 0,
    max: ANY_COUNT_MAX,
    help: "messages waiting for a retry, per queue",
  },
  delayedPerNodeMax: { min: 0, max: ANY_COUNT_MAX, help: "messages waiting for a retry, in all" },
  delayedBytesPerQueueMax: {
    min: 0,
    max: ANY_COUNT_MAX,
    help: "bytes waiting for a retry, per queue",
  },
  delayedBytesPerNodeMax: { min: 0, max: ANY_COUNT_MAX, help: "bytes waiting for a retry, in all" },
  outboxBytesMax: { min: 4096, max: ANY_COUNT_MAX, help: "output waiting for one slow client" },
  outputStallMs: {
    min: 1,
    max: TIMER_MS_MAX,
    help: "time a socket may take no output",
  },
  inputBytesPerTurn: { min: 4096, max: 16_777_216, help: "input of one connection per turn" },
  memoryBytesMax: {
    min: MEMORY_BYTES_MIN,
    max: ANY_COUNT_MAX,
    help: "memory at which publishers wait",
  },
  txOperationsMax: { min: 1, max: ANY_COUNT_MAX, help: "operations one transaction may hold" },
  settledPerTurn: { min: 16, max: ANY_COUNT_MAX, help: "deliveries settled in one turn" },
};
