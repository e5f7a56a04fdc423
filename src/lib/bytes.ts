// Reading, comparing and hashing ranges of bytes without allocating, big-endian as on the wire.
// Called by the codec and by every layer that keeps names or records as bytes. 64-bit numbers are
// doubles, exact to 2^53, because the hot path may not touch BigInt or DataView.

// A copy has five operands, and an object to hold them would be allocated per copy.
// deno-lint-ignore-file reprise-shape/function-shape

const TWO_POW_32 = 0x1_0000_0000;

/** A shared empty array. Never write to it. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

/**
 * Gives the memory of `bytes` back at once. A garbage collector would be late: runtimes collect by
 * the size of their heap, and large buffers are no part of it. To be called for buffers that are
 * not used any more. A view into a larger buffer stays as it is.
 */
export function dropBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  const isWhole = bytes.byteLength === buffer.byteLength && bytes.byteLength > 0;
  if (isWhole && buffer instanceof ArrayBuffer) detach(buffer);
}

/** An ArrayBuffer of newer engines. Node 20 has no `transfer`. */
interface Transferable {
  transfer?(byteLength: number): ArrayBuffer;
}

// Without `transfer`, the memory moves to a new object. That object is young, so it is collected
// soon: blocks of 1 MiB took half of the memory that they took without this.
const detach: (buffer: ArrayBuffer & Transferable) => void =
  typeof (ArrayBuffer.prototype as Transferable).transfer === "function"
    ? (buffer) => void buffer.transfer!(0)
    : (buffer) => void structuredClone(buffer, { transfer: [buffer] });

/** Reads an unsigned 16-bit integer at `at`; the caller has checked the bounds. */
export function readU16(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

/** Reads an unsigned 32-bit integer at `at`; the caller has checked the bounds. */
export function readU32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>>
    0;
}

/** Reads an unsigned 64-bit integer as a double: exact to 2^53, rounded above. */
export function readU64(bytes: Uint8Array, at: number): number {
  return readU32(bytes, at) * TWO_POW_32 + readU32(bytes, at + 4);
}

const FLOAT_BYTES = new DataView(new ArrayBuffer(8));

/** Reads an IEEE 754 double at `at`. */
export function readF64(bytes: Uint8Array, at: number): number {
  FLOAT_BYTES.setUint32(0, readU32(bytes, at));
  FLOAT_BYTES.setUint32(4, readU32(bytes, at + 4));
  return FLOAT_BYTES.getFloat64(0);
}

/** Writes an IEEE 754 double at `at`. */
export function putF64(bytes: Uint8Array, at: number, value: number): void {
  FLOAT_BYTES.setFloat64(0, value);
  putU32(bytes, at, FLOAT_BYTES.getUint32(0));
  putU32(bytes, at + 4, FLOAT_BYTES.getUint32(4));
}

/** Writes an IEEE 754 single at `at`. */
export function putF32(bytes: Uint8Array, at: number, value: number): void {
  FLOAT_BYTES.setFloat32(0, value);
  putU32(bytes, at, FLOAT_BYTES.getUint32(0));
}

/** Writes an unsigned 16-bit integer at `at`. */
export function putU16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

/** Writes an unsigned 32-bit integer at `at`. */
export function putU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Writes an integer of at most 53 bits as 64 bits at `at`, negative ones as two's complement. */
export function putI64(bytes: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / TWO_POW_32);
  putU32(bytes, at, high);
  putU32(bytes, at + 4, value - high * TWO_POW_32);
}

// Up to this many bytes a loop is faster than a call of `set` and the view that it needs. Measured,
// both cost the same at about 35 bytes on Node, 60 on Deno and 100 on Bun.
const SHORT_COPY_BYTES = 48;

/**
 * Copies `source[start, end)` to `target` at `at`, and returns where the copy ends: short runs by a
 * loop, long ones by `set`.
 */
export function copyBytes(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  start: number,
  end: number,
): number {
  if (end - start > SHORT_COPY_BYTES) {
    target.set(source.subarray(start, end), at);
    return at + end - start;
  }
  for (let i = start; i < end; i++) target[at++] = source[i]!;
  return at;
}

/**
 * Returns a copy of `bytes[start, end)`. It does not use `bytes.slice`, which shares the memory
 * when a runtime passes a Node Buffer.
 */
export function copyOfRange(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = new Uint8Array(end - start);
  copyBytes(copy, 0, bytes, start, end);
  return copy;
}

/** Whether `bytes[start, end)` holds exactly the bytes of `other`. */
export function rangeEquals(
  bytes: Uint8Array,
  start: number,
  end: number,
  other: Uint8Array,
): boolean {
  const byteCount = end - start;
  if (byteCount !== other.length) return false;
  for (let i = 0; i < byteCount; i++) {
    if (bytes[start + i] !== other[i]) return false;
  }
  return true;
}

/** Whether two byte arrays hold the same bytes. */
export function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return rangeEquals(a, 0, a.length, b);
}

/** The hash of nothing by FNV-1a. */
export const FNV_OFFSET = 0x811c9dc5;
/** The factor of FNV-1a. */
export const FNV_PRIME = 0x01000193;

/** FNV-1a of `bytes[start, end)` as an unsigned 32-bit number; `seed` chains several ranges. */
export function hashBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  seed: number = FNV_OFFSET,
): number {
  let hash = seed;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
  return hash >>> 0;
}
