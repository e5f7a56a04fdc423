// Limits on everything a client can grow (docs/configuration.md "Limits"), in one typed place.
// config.ts fills them, session/ and broker/ read them, nothing changes them while the node runs.

import { BLOCK_BYTES } from "../store/arena.ts";

/** Every limit of the node. Counts are whole numbers, sizes are bytes, times are ms. */
export interface Limits {
  connectionCountMax: number;
  channelMax: number;
  frameBytesMax: number;
  heartbeatSeconds: number;
  handshakeMs: number;
  /** Connections that have not logged in, */
  handshakeCountMax: number;
  /** and those of them from one address; of IPv6 from one /64. */
  handshakesPerAddressMax: number;
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
  /** Deliveries settled in one turn; more of one client are settled in several. */
  settledPerTurn: number;
}

/**
 * The least that may be set as the memory at which publishers wait: a store holds two open blocks
 * whatever it has in them, one for contents and one for what is left of those on disk, and as much again
 * is there to be used.
 */
export const MEMORY_BYTES_MIN: number = 4 * BLOCK_BYTES;

// Parts of the memory at which publishers wait. What clients can hold there without a message being
// stored stays well below it, so that storing less and paging can always bring memory down.
const MESSAGE_PART = 8;
const UNFINISHED_PART = 4;
const CONTENT_PART = 16;
// A connection that has not logged in takes less than half of this on every runtime.
const HANDSHAKE_BYTES = 65_536;
const HANDSHAKES_MIN = 64;

/** The largest body for which there is room: an eighth of the memory at which publishers wait. */
export function messageBytesThatFit(memoryBytesMax: number): number {
  return Math.floor(memoryBytesMax / MESSAGE_PART);
}

/**
 * Limits as they hold: a body is at most an eighth of `memoryBytesMax`, the content that one connection
 * has begun at most a quarter, and there is one connection that has not logged in for each 64 KiB of it,
 * half of them from one address.
 */
export function withinMemory(limits: Limits): Limits {
  const { memoryBytesMax, messageBytesMax, unfinishedBytesMax } = limits;
  const handshakesThatFit = Math.max(HANDSHAKES_MIN, Math.floor(memoryBytesMax / HANDSHAKE_BYTES));
  const handshakeCountMax = Math.min(limits.handshakeCountMax, handshakesThatFit);
  const handshakesPerAddressMax = Math.min(
    limits.handshakesPerAddressMax,
    Math.ceil(handshakeCountMax / 2),
  );
  return {
    ...limits,
    messageBytesMax: Math.min(messageBytesMax, messageBytesThatFit(memoryBytesMax)),
    unfinishedBytesMax: Math.min(unfinishedBytesMax, Math.floor(memoryBytesMax / UNFINISHED_PART)),
    handshakeCountMax,
    handshakesPerAddressMax,
  };
}

/** Content that all connections have begun above which one of them at a time goes on, bytes. */
export function contentBytesMax(limits: Limits): number {
  return Math.floor(limits.memoryBytesMax / CONTENT_PART);
}

/** Defaults that suit one small machine. */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  connectionCountMax: 65_536,
  channelMax: 2047,
  frameBytesMax: 131_072,
  heartbeatSeconds: 60,
  handshakeMs: 10_000,
  handshakeCountMax: 8192,
  handshakesPerAddressMax: 4096,
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
  settledPerTurn: 8192,
};
