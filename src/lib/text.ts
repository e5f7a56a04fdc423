// UTF-8 in both directions, strict and lenient. The codec calls it, and any code that needs a name
// as text. It never strips a byte order mark: decoded text encodes to the same bytes.

const ENCODER = new TextEncoder();
const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LENIENT = new TextDecoder("utf-8", { ignoreBOM: true });

// A decoder call costs more than a loop over this many ASCII characters.
const LOOP_BYTES_MAX = 24;

/** Encodes text as UTF-8; a lone surrogate becomes U+FFFD. */
export function encodeText(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/**
 * Encodes text into `target` at `at`, where three bytes per UTF-16 unit are free. Returns the bytes
 * written.
 */
export function encodeTextInto(text: string, target: Uint8Array, at: number): number {
  if (text.length <= LOOP_BYTES_MAX) {
    let i = 0;
    for (; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) break;
      target[at + i] = unit;
    }
    if (i === text.length) return i;
  }
  return ENCODER.encodeInto(text, target.subarray(at)).written;
}

function asciiText(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = "";
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte >= 0x80) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}

/** Decodes `bytes[start, end)`; returns `undefined` if they are not UTF-8. */
export function decodeTextStrict(
  bytes: Uint8Array,
  start: number,
  end: number,
): string | undefined {
  if (end - start <= LOOP_BYTES_MAX) {
    const text = asciiText(bytes, start, end);
    if (text !== undefined) return text;
  }
  try {
    return STRICT.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

/** Decodes `bytes[start, end)`. Bytes that are not UTF-8 become U+FFFD. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= LOOP_BYTES_MAX) {
    const text = asciiText(bytes, start, end);
    if (text !== undefined) return text;
  }
  return LENIENT.decode(bytes.subarray(start, end));
}

/**
 * Returns the longest prefix of `text` that has at most `bytesMax` bytes in UTF-8, never half a
 * character.
 */
export function cutText(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const encoded = ENCODER.encode(text);
  if (encoded.length <= bytesMax) return text;
  let end = bytesMax;
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end--;
  return decodeText(encoded, 0, end);
}
