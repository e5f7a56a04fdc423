// Divides the memory of the whole process: a person knows what a machine has, the broker knows what
// its messages take. config/settings.ts and server.ts ask it; docs/configuration.md has the same
// numbers.

import {
  DEFAULT_LIMITS,
  type Limits,
  MEMORY_BYTES_MIN,
  messageBytesThatFit,
} from "../broker/limits.ts";
import { ConfigError } from "./config_error.ts";
import { showBytes } from "./kinds.ts";

const MIB = 1024 * 1024;

/** For the program itself: the runtime, its heap, buffers of sockets and garbage; 136 MiB. */
const PROGRAM_BYTES = 136 * MIB;

// The part of the rest that messages may take before publishers wait. The remainder is for messages
// on their way: an arriving body is in memory up to three times before the disk has it.
const MESSAGE_SHARE = 0.8;

/**
 * The least memory that a process can be given, bytes. With less, messages would have too little.
 */
export const MAX_MEMORY_BYTES_MIN: number = PROGRAM_BYTES + MEMORY_BYTES_MIN / MESSAGE_SHARE;

/** Returns the part of a process's memory that messages may take before publishers wait, bytes. */
export function messageBytesOf(processBytes: number): number {
  return Math.floor((processBytes - PROGRAM_BYTES) * MESSAGE_SHARE);
}

/**
 * Returns the part of the memory of messages that contents may take before those that a disk has
 * are given up, bytes. The other half is for the facts about each message, and for contents that no
 * disk has yet.
 */
export function residentBytesOf(messageBytes: number): number {
  return Math.floor(messageBytes / 2);
}

/**
 * Refuses a maximum body size that was set and does not fit into the memory of messages. A default
 * is lowered without a word. `shownAs` names the setting.
 */
export function refuseWhatDoesNotFit(limits: Limits, shownAs: string): void {
  const { messageBytesMax, memoryBytesMax } = limits;
  const most = messageBytesThatFit(memoryBytesMax);
  if (messageBytesMax === DEFAULT_LIMITS.messageBytesMax || messageBytesMax <= most) return;
  const memory = showBytes(memoryBytesMax);
  const accepted = `at most ${showBytes(most)}, an eighth of the memory of messages (${memory})`;
  throw ConfigError.forValue(shownAs, showBytes(messageBytesMax), accepted);
}
