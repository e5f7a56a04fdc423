// Tests of src/lib/text.ts: strict and lenient decoding, cutting inside multi-byte characters,
// against the platform's encoder. Run by every unit test run.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import {
  cutText,
  decodeText,
  decodeTextStrict,
  encodeText,
  encodeTextInto,
} from "../../../src/lib/text.ts";

const SEED = 20;
const ANY_TEXT = fc.string({ unit: "binary", maxLength: 60 });
const NOT_UTF8 = [[0x80], [0xc3], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80], [0xc0, 0xaf]];

Deno.test("decodeTextStrict() gives back any text that was encoded", () => {
  fc.assert(
    fc.property(ANY_TEXT, (text) => {
      const bytes = encodeText(`x${text}y`);
      assertEquals(decodeTextStrict(bytes, 1, bytes.length - 1), text);
      assertEquals(decodeText(bytes, 1, bytes.length - 1), text);
    }),
    { seed: SEED },
  );
});

Deno.test("decodeTextStrict() keeps a byte order mark when text begins with one", () => {
  const bytes = encodeText("\ufeffq");
  assertEquals(decodeTextStrict(bytes, 0, bytes.length), "\ufeffq");
  assertEquals(decodeText(bytes, 0, bytes.length), "\ufeffq");
});

Deno.test("decodeTextStrict() answers undefined when bytes are not UTF-8", () => {
  for (const bytes of NOT_UTF8) {
    const long = [...new Array<number>(30).fill(0x61), ...bytes];
    assertEquals(decodeTextStrict(Uint8Array.from(bytes), 0, bytes.length), undefined);
    assertEquals(decodeTextStrict(Uint8Array.from(long), 0, long.length), undefined);
    assert(decodeText(Uint8Array.from(bytes), 0, bytes.length).includes("\ufffd"));
  }
});

Deno.test("encodeTextInto() writes what the platform's encoder writes", () => {
  fc.assert(
    fc.property(ANY_TEXT, (text) => {
      const target = new Uint8Array(text.length * 3 + 2);
      const written = encodeTextInto(text, target, 2);
      assertEquals(target.slice(2, 2 + written), new TextEncoder().encode(text));
    }),
    { seed: SEED },
  );
});

Deno.test("cutText() never splits a character when it cuts", () => {
  assertEquals(cutText("short", 255), "short");
  assertEquals(cutText("aé", 2), "a");
  assertEquals(cutText("aé", 3), "aé");
  assertEquals(cutText("😀😀", 7), "😀");
  assertEquals(cutText("😀", 3), "");
});

Deno.test("cutText() returns the longest prefix that fits", () => {
  fc.assert(
    fc.property(ANY_TEXT, fc.nat(80), (text, bytesMax) => {
      const cut = cutText(text, bytesMax);
      assert(text.startsWith(cut));
      assertLessOrEqual(encodeText(cut).length, bytesMax);
      const next = [...text.slice(cut.length)][0] ?? "";
      assert(cut === text || encodeText(cut + next).length > bytesMax);
    }),
    { seed: SEED },
  );
});
