// Limits on everything that a client can grow (docs/configuration.md "Limits"), in one typed place.
// config.ts fills them, session/ and broker/ read them; they do not change while the node runs.

import { BLOCK_BYTES } from "../store/memory/arena.ts";

/** Every limit of the node. Counts are whole numbers, sizes are bytes, times are ms. */
export interface Limits {
  connectionCountMax: number;
  /** Connections to the HTTP API. */
  httpConnectionCountMax: number;
  channelMax: number;
  frameBytesMax: number;
  heartbeatSeconds: number;
  handshakeMs: number;
  /** Connections that have not logged in. */
  handshakeCountMax: number;
  /** Connections that have not logged in, from one IPv4 address or one IPv6 /64. */
  handshakesPerAddressMax: number;
  queueCountMax: number;
  exchangeCountMax: number;
  bindingCountMax: number;
  consumersPerChannelMax: number;
  messageBytesMax: number;
  /** Content that a connection has begun and not finished, over all its channels, bytes. */
  unfinishedBytesMax: number;
  unackedPerChannelMax: number;
  delayedPerQueueMax: number;
  delayedPerNodeMax: number;
  delayedBytesPerQueueMax: number;
  delayedBytesPerNodeMax: number;
  /** When this much output waits for one client, it gets no more deliveries and its input is not run. */
  outboxBytesMax: number;
  /** How long the socket of a client without heartbeats may accept none of its output. */
  outputStallMs: number;
  /** Input of one connection that is run in one turn, bytes. */
  inputBytesPerTurn: number;
  /** Memory of messages at which publishers are blocked, bytes. */
  memoryBytesMax: number;
  /** Operations that a tx channel may hold until commit. */
  txOperationsMax: number;
  /** Deliveries settled in one turn. A larger settlement of one client takes several turns. */
  settledPerTurn: number;
}

/**
 * Least value of `memoryBytesMax`, bytes; 4 blocks. A store always holds two open blocks, one for
 * contents and one for the records of contents on disk. Two more blocks are left for use.
 */
export const MEMORY_BYTES_MIN: number = 4 * BLOCK_BYTES;

// Limits as parts of `memoryBytesMax`: each is `memoryBytesMax` divided by the constant. The memory
// that clients can hold without storing a message stays well below the watermark, so that storing less
// and paging can always bring memory down.
const MESSAGE_PART = 8;
const UNFINISHED_PART = 4;
const CONTENT_PART = 16;
const OUTPUT_PART = 4;
// A connection that has not logged in uses less than half of these bytes on every runtime.
const HANDSHAKE_BYTES = 65_536;
const HANDSHAKES_MIN = 64;

/** Bytes of the largest body for which there is room: an eighth of `memoryBytesMax`. */
export function messageBytesThatFit(memoryBytesMax: number): number {
  return Math.floor(memoryBytesMax / MESSAGE_PART);
}

/**
 * Returns the effective limits. A body has at most an eighth of `memoryBytesMax`, and the content that
 * one connection has begun at most a quarter. For each 64 KiB of `memoryBytesMax`, one connection
 * without login is allowed; half of these may come from one address.
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

/**
 * When all connections together have begun more content than this, only one at a time continues, bytes.
 */
export function contentBytesMax(limits: Limits): number {
  return Math.floor(limits.memoryBytesMax / CONTENT_PART);
}

/** When more output than this waits for all clients together, large messages are held back, bytes. */
export function outputBytesMax(limits: Limits): number {
  return Math.floor(limits.memoryBytesMax / OUTPUT_PART);
}

/** Defaults that suit one small machine. */
export const DEFAULT_LIMITS: Readonly<Limits> = {
  connectionCountMax: 65_536,
  httpConnectionCountMax: 1024,
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
