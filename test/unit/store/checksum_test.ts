// Checksum: published results of xxHash32, and the same result wherever the bytes lie.

import { assertEquals, assertNotEquals } from "@std/assert";
import { encodeText } from "../../../src/lib/text.ts";
import { Prng } from "../../../src/lib/prng.ts";
import { checksum } from "../../../src/store/checksum.ts";

const SEED = 0x9e3779b1;

function randomBytes(byteCount: number, seed: number): Uint8Array {
  const prng = new Prng(seed);
  const bytes = new Uint8Array(byteCount);
  for (let i = 0; i < byteCount; i++) bytes[i] = prng.nextBelow(256);
  return bytes;
}

/** The bytes the algorithm's own test program makes. */
function sanityBytes(byteCount: number): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  let generator = SEED;
  for (let i = 0; i < byteCount; i++) {
    bytes[i] = generator >>> 24;
    generator = Math.imul(generator, generator) >>> 0;
  }
  return bytes;
}

Deno.test("checksum() gives the published results for texts", () => {
  const published: [string, number][] = [
    ["", 0x02cc5d05],
    ["a", 0x550d7456],
    ["abc", 0x32d153ff],
    ["abcdefghijklmnopqrstuvwxyz", 0x63a14d5f],
    ["Nobody inspects the spammish repetition", 0xe2293b2f],
  ];
  for (const [text, hash] of published) {
    const bytes = encodeText(text);
    assertEquals(checksum(bytes, 0, bytes.length), hash, text);
  }
});

Deno.test("checksum() gives the published results with and without a seed", () => {
  const published: [number, number, number][] = [
    [0, 0, 0x02cc5d05],
    [0, SEED, 0x36b78ae7],
    [1, 0, 0xb85cbee5],
    [1, SEED, 0xd5845d64],
    [14, 0, 0xe5aa0ab4],
    [14, SEED, 0x4481951d],
    [101, 0, 0x1f1aa412],
    [101, SEED, 0x498ec8e2],
  ];
  const bytes = sanityBytes(101);
  for (const [byteCount, seed, hash] of published) {
    assertEquals(checksum(bytes, 0, byteCount, seed), hash, `${byteCount} bytes, seed ${seed}`);
  }
});

Deno.test("checksum() gives the same result for any alignment and any buffer", () => {
  for (let byteCount = 0; byteCount < 300; byteCount += byteCount < 40 ? 1 : 7) {
    const alone = randomBytes(byteCount, byteCount);
    const expected = checksum(alone, 0, byteCount);
    for (let lead = 0; lead < 8; lead++) {
      for (const trail of [0, 1, 2, 3, 4, 64]) {
        const roomy = randomBytes(lead + byteCount + trail, 99);
        roomy.set(alone, lead);
        const end = lead + byteCount;
        assertEquals(checksum(roomy, lead, end), expected, `${lead} + ${byteCount} + ${trail}`);
        assertEquals(checksum(roomy.subarray(lead), 0, byteCount), expected);
      }
    }
  }
});

Deno.test("checksum() sees what was written to a buffer since its last call", () => {
  const bytes = randomBytes(1000, 1);
  const before = checksum(bytes, 0, 1000);
  bytes[500] = bytes[500]! ^ 1;
  assertNotEquals(checksum(bytes, 0, 1000), before);
  bytes[500] = bytes[500]! ^ 1;
  assertEquals(checksum(bytes, 0, 1000), before);
});

Deno.test("checksum() changes with every single bit", () => {
  const bytes = randomBytes(97, 2);
  const seen = new Set([checksum(bytes, 1, 97)]);
  for (let bit = 8; bit < 97 * 8; bit++) {
    bytes[bit >> 3] = bytes[bit >> 3]! ^ (1 << (bit & 7));
    seen.add(checksum(bytes, 1, 97));
    bytes[bit >> 3] = bytes[bit >> 3]! ^ (1 << (bit & 7));
  }
  assertEquals(seen.size, 1 + 96 * 8);
});
