// How the memory of the whole process is shared out. A person knows what a machine has; the broker knows
// what its messages take. config/settings.ts and server.ts ask; docs/configuration.md says the same in
// words and numbers.

import {
  DEFAULT_LIMITS,
  type Limits,
  MEMORY_BYTES_MIN,
  messageBytesThatFit,
} from "../broker/limits.ts";
import { ConfigError } from "./config_error.ts";
import { showBytes } from "./kinds.ts";

const MIB = 1024 * 1024;

/** For the program itself: the runtime, its heap, buffers of sockets and what waits to be collected. */
const PROGRAM_BYTES = 136 * MIB;

// Of what is left, the part that messages may take before publishers wait. The rest is for what goes
// through: a body that arrives is in memory up to three times before it is a message on a disk.
const MESSAGE_SHARE = 0.8;

/** The least that a process can be told to live with: with less, messages would have too little. */
export const MAX_MEMORY_BYTES_MIN: number = PROGRAM_BYTES + MEMORY_BYTES_MIN / MESSAGE_SHARE;

/** Of the memory of a whole process, what messages may take before publishers wait. */
export function messageBytesOf(processBytes: number): number {
  return Math.floor((processBytes - PROGRAM_BYTES) * MESSAGE_SHARE);
}

/**
 * Of the memory of messages, what their contents may take before those that a disk has are given up.
 * The other half is for what is known of each message, and for contents that no disk has yet.
 */
export function residentBytesOf(messageBytes: number): number {
  return Math.floor(messageBytes / 2);
}

/**
 * Refuses a size of messages that somebody has set and that does not fit into their memory; the default
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
