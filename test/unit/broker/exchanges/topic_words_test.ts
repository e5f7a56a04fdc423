// Tests of the numbered words of a topic exchange.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  extendWordHash,
  TopicWords,
  WORD_HASH_START,
} from "../../../../src/broker/exchanges/topic_words.ts";

function hashOf(word: string): number {
  let hash = WORD_HASH_START;
  for (let i = 0; i < word.length; i++) hash = extendWordHash(hash, word.charCodeAt(i));
  return hash;
}

function findIn(words: TopicWords, text: string, start: number, end: number): number {
  return words.findIn(text, start, end, hashOf(text.slice(start, end)));
}

Deno.test("TopicWords finds words in place, by characters and not by hash alone", () => {
  const words = new TopicWords();
  const stock = words.acquire("stock");
  const empty = words.acquire("");
  assertEquals(findIn(words, "a.stock.b", 2, 7), stock);
  assertEquals(findIn(words, "a.stocks", 2, 8), -1);
  assertEquals(findIn(words, "a.stoc", 2, 6), -1);
  assertEquals(findIn(words, "a..b", 2, 2), empty);
  // With the hash of another word it is still not that word.
  assertEquals(words.findIn("a.stocks", 2, 8, hashOf("stock")), -1);
});

Deno.test("TopicWords forgets a word with its last user and reuses its number", () => {
  const words = new TopicWords();
  const id = words.acquire("a");
  assertEquals(words.acquire("a"), id);
  words.release(id);
  assertEquals(words.find("a"), id);
  words.release(id);
  assertEquals(words.find("a"), -1);
  assertEquals(words.count, 0);
  assertEquals(words.acquire("b"), id);
});

Deno.test("TopicWords agrees with a map of counts through growth and removal", () => {
  const step = fc.tuple(fc.boolean(), fc.nat(200));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const words = new TopicWords();
      const counts = new Map<string, number>();
      for (const [isAcquire, number] of steps) {
        const word = number === 0 ? "" : `w${number}`;
        const count = counts.get(word) ?? 0;
        if (isAcquire) words.acquire(word);
        else if (count > 0) words.release(words.find(word));
        counts.set(word, isAcquire ? count + 1 : Math.max(0, count - 1));
      }
      const ids = new Set<number>();
      for (const [word, count] of counts) {
        const id = words.find(word);
        assertEquals(id >= 0, count > 0);
        if (id >= 0) ids.add(id);
      }
      assertEquals(ids.size, words.count);
    }),
    { seed: 12 },
  );
});
