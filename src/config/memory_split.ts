// How the memory of the whole process is shared out. A person knows what a machine has; the broker knows
// what its messages take. config/settings.ts and server.ts ask; docs/storage.md says the same in words.

const MIB = 1024 * 1024;

/** For the program itself: the runtime, its heap, buffers of sockets and what waits to be collected. */
const PROGRAM_BYTES = 128 * MIB;

/** The least that a process can be told to live with. */
export const MAX_MEMORY_BYTES_MIN: number = 128 * MIB;

/** Of the memory of a whole process, what messages may take before publishers wait. */
export function messageBytesOf(processBytes: number): number {
  return Math.floor(Math.max(processBytes - PROGRAM_BYTES, processBytes / 2));
}

/**
 * Of the memory of messages, what their contents may take before those that a disk has are given up.
 * The other half is for what is known of each message, and for contents that no disk has yet.
 */
export function residentBytesOf(messageBytes: number): number {
  return Math.floor(messageBytes / 2);
}
