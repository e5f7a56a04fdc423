// Limits on everything a client can grow (docs/configuration.md "Limits"), in one typed place.
// config.ts fills them, session/ and broker/ read them, nothing changes them while the node runs.

/** Every limit of the node. Counts are whole numbers, sizes are bytes, times are ms. */
export interface Limits {
  connectionCountMax: number;
  channelMax: number;
  frameBytesMax: number;
  heartbeatSeconds: number;
  handshakeMs: number;
  queueCountMax: number;
  exchangeCountMax: number;
  bindingCountMax: number;
  consumersPerChannelMax: number;
  messageBytesMax: number;
  /** Content a connection has begun and not finished, over all its channels. */
  unfinishedBytesMax: number;
  unackedPerChannelMax: number;
  delayedPerQueueMax: number;
  delayedPerNodeMax: number;
  delayedBytesPerQueueMax: number;
  delayedBytesPerNodeMax: number;
  /** Output waiting for one client above which it gets no more deliveries and nothing of it is run. */
  outboxBytesMax: number;
  /** How long the socket of a client without heartbeats may take nothing of its output. */
  outputStallMs: number;
  /** Input of one connection run in one turn. */
  inputBytesPerTurn: number;
  /** Memory of messages at which publishers are blocked. */
  memoryBytesMax: number;
  /** Operations a tx channel may hold until commit. */
  txOperationsMax: number;
}

/** Defaults that suit one small machine. */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  connectionCountMax: 65_536,
  channelMax: 2047,
  frameBytesMax: 131_072,
  heartbeatSeconds: 60,
  handshakeMs: 10_000,
  queueCountMax: 100_000,
  exchangeCountMax: 100_000,
  bindingCountMax: 1_000_000,
  consumersPerChannelMax: 65_536,
  messageBytesMax: 134_217_728,
  unfinishedBytesMax: 268_435_456,
  unackedPerChannelMax: 1_048_576,
  delayedPerQueueMax: 10_000_000,
  delayedPerNodeMax: 20_000_000,
  delayedBytesPerQueueMax: 8_589_934_592,
  delayedBytesPerNodeMax: 8_589_934_592,
  outboxBytesMax: 1_048_576,
  outputStallMs: 120_000,
  inputBytesPerTurn: 131_072,
  memoryBytesMax: 1_073_741_824,
  txOperationsMax: 1_000_000,
};
