// A 32-bit checksum of a range of bytes: the xxHash32 algorithm, so that any language can verify
// our files. The store calls it for everything that it writes and reads back. It finds damage, and
// is no protection against forged bytes.
//
// Four lanes take 16 bytes a round. Reading 32-bit words makes it fast. The words come from an
// Int32Array over the buffer of the bytes, which is kept for the next call. So ranges of one buffer
// are hashed without allocating, whatever their alignment. The array keeps one buffer alive. Signed
// words stay integers for the engine; with unsigned ones Bun took twice as long.

const PRIME_1 = 0x9e3779b1 | 0;
const PRIME_2 = 0x85ebca77 | 0;
const PRIME_3 = 0xc2b2ae3d | 0;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;

const STRIPE_BYTES = 16;
// For fewer bytes than this, reading words is not faster than reading bytes.
const WORDS_WORTH_BYTES = 64;

// The algorithm reads words little-endian. A big-endian machine reads bytes instead.
const LITTLE_ENDIAN = new Uint8Array(new Int32Array([1]).buffer)[0] === 1;

let wordsBuffer: ArrayBufferLike = new ArrayBuffer(0);
let words: Int32Array = new Int32Array(wordsBuffer);

/**
 * The xxHash32 of `bytes[start, end)` as an unsigned 32-bit number. The caller has checked the
 * bounds. Each `seed` gives a different family of checksums. To chain two ranges, pass the checksum
 * of the first as the seed of the second.
 */
export function checksum(bytes: Uint8Array, start: number, end: number, seed: number = 0): number {
  const byteCount = end - start;
  let at = start;
  let hash: number;
  if (byteCount < STRIPE_BYTES) {
    hash = (seed + PRIME_5) | 0;
  } else {
    const stripesEnd = start + byteCount - byteCount % STRIPE_BYTES;
    hash = hashStripes(bytes, start, stripesEnd, seed | 0);
    at = stripesEnd;
  }
  hash = (hash + byteCount) | 0;
  for (; at + 4 <= end; at += 4) {
    const product = (hash + Math.imul(wordAt(bytes, at), PRIME_3)) | 0;
    hash = Math.imul((product << 17) | (product >>> 15), PRIME_4);
  }
  for (; at < end; at++) {
    const product = (hash + Math.imul(bytes[at]!, PRIME_5)) | 0;
    hash = Math.imul((product << 11) | (product >>> 21), PRIME_1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Hashes whole stripes in the fastest way that their alignment allows. */
function hashStripes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  if (end - start < WORDS_WORTH_BYTES || !LITTLE_ENDIAN) {
    return hashStripesByBytes(bytes, start, end, seed);
  }
  if (bytes.buffer !== wordsBuffer) {
    wordsBuffer = bytes.buffer;
    words = new Int32Array(wordsBuffer, 0, wordsBuffer.byteLength >>> 2);
  }
  const from = bytes.byteOffset + start;
  const to = bytes.byteOffset + end;
  if ((from & 3) === 0) return hashAlignedWords(words, from >>> 2, to >>> 2, seed);
  // The last word of the range may be the buffer's odd bytes, which no word covers.
  if ((to >>> 2) >= words.length) return hashStripesByBytes(bytes, start, end, seed);
  return hashShiftedWords(words, from, to, seed);
}

/** The stripes in words `[from, to)`. */
function hashAlignedWords(words: Int32Array, from: number, to: number, seed: number): number {
  let lane1 = (seed + PRIME_1 + PRIME_2) | 0;
  let lane2 = (seed + PRIME_2) | 0;
  let lane3 = seed;
  let lane4 = (seed - PRIME_1) | 0;
  for (let i = from; i < to; i += 4) {
    lane1 = (lane1 + Math.imul(words[i]!, PRIME_2)) | 0;
    lane1 = Math.imul((lane1 << 13) | (lane1 >>> 19), PRIME_1);
    lane2 = (lane2 + Math.imul(words[i + 1]!, PRIME_2)) | 0;
    lane2 = Math.imul((lane2 << 13) | (lane2 >>> 19), PRIME_1);
    lane3 = (lane3 + Math.imul(words[i + 2]!, PRIME_2)) | 0;
    lane3 = Math.imul((lane3 << 13) | (lane3 >>> 19), PRIME_1);
    lane4 = (lane4 + Math.imul(words[i + 3]!, PRIME_2)) | 0;
    lane4 = Math.imul((lane4 << 13) | (lane4 >>> 19), PRIME_1);
  }
  return mergeLanes(lane1, lane2, lane3, lane4);
}

/** The stripes in the bytes `[from, to)` of the buffer, which begin inside a word. */
function hashShiftedWords(words: Int32Array, from: number, to: number, seed: number): number {
  const low = (from & 3) * 8;
  const high = 32 - low;
  const end = to >>> 2;
  let lane1 = (seed + PRIME_1 + PRIME_2) | 0;
  let lane2 = (seed + PRIME_2) | 0;
  let lane3 = seed;
  let lane4 = (seed - PRIME_1) | 0;
  let carried = words[from >>> 2]! >>> low;
  for (let i = from >>> 2; i < end; i += 4) {
    const word1 = words[i + 1]!;
    const word2 = words[i + 2]!;
    const word3 = words[i + 3]!;
    const word4 = words[i + 4]!;
    lane1 = (lane1 + Math.imul(carried | (word1 << high), PRIME_2)) | 0;
    lane1 = Math.imul((lane1 << 13) | (lane1 >>> 19), PRIME_1);
    lane2 = (lane2 + Math.imul((word1 >>> low) | (word2 << high), PRIME_2)) | 0;
    lane2 = Math.imul((lane2 << 13) | (lane2 >>> 19), PRIME_1);
    lane3 = (lane3 + Math.imul((word2 >>> low) | (word3 << high), PRIME_2)) | 0;
    lane3 = Math.imul((lane3 << 13) | (lane3 >>> 19), PRIME_1);
    lane4 = (lane4 + Math.imul((word3 >>> low) | (word4 << high), PRIME_2)) | 0;
    lane4 = Math.imul((lane4 << 13) | (lane4 >>> 19), PRIME_1);
    carried = word4 >>> low;
  }
  return mergeLanes(lane1, lane2, lane3, lane4);
}

/** The stripes in `bytes[start, end)`, where words cannot be read. */
function hashStripesByBytes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let lane1 = (seed + PRIME_1 + PRIME_2) | 0;
  let lane2 = (seed + PRIME_2) | 0;
  let lane3 = seed;
  let lane4 = (seed - PRIME_1) | 0;
  for (let at = start; at < end; at += STRIPE_BYTES) {
    lane1 = (lane1 + Math.imul(wordAt(bytes, at), PRIME_2)) | 0;
    lane1 = Math.imul((lane1 << 13) | (lane1 >>> 19), PRIME_1);
    lane2 = (lane2 + Math.imul(wordAt(bytes, at + 4), PRIME_2)) | 0;
    lane2 = Math.imul((lane2 << 13) | (lane2 >>> 19), PRIME_1);
    lane3 = (lane3 + Math.imul(wordAt(bytes, at + 8), PRIME_2)) | 0;
    lane3 = Math.imul((lane3 << 13) | (lane3 >>> 19), PRIME_1);
    lane4 = (lane4 + Math.imul(wordAt(bytes, at + 12), PRIME_2)) | 0;
    lane4 = Math.imul((lane4 << 13) | (lane4 >>> 19), PRIME_1);
  }
  return mergeLanes(lane1, lane2, lane3, lane4);
}

function mergeLanes(lane1: number, lane2: number, lane3: number, lane4: number): number {
  return (((lane1 << 1) | (lane1 >>> 31)) + ((lane2 << 7) | (lane2 >>> 25)) +
    ((lane3 << 12) | (lane3 >>> 20)) + ((lane4 << 18) | (lane4 >>> 14))) | 0;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
