// Tests of the topic exchange: RabbitMQ's corner cases, a naive matcher as model, and patterns made to
// explode.

import { assertEquals, assertLess } from "@std/assert";
import fc from "fast-check";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import {
  ALICE,
  args,
  bindExchange,
  bindQueue,
  declareExchange,
  declareQueue,
  makeVHost,
  message,
  routed,
} from "../support/topology.ts";

function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(".");
}

/** The model: what the protocol says, as slowly as it says it. */
function matches(pattern: readonly string[], key: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return key.length === 0;
  if (first === "#") {
    return matches(rest, key) || (key.length > 0 && matches(pattern, key.slice(1)));
  }
  if (key.length === 0 || (first !== "*" && first !== key[0])) return false;
  return matches(rest, key.slice(1));
}

function makeTopic(patterns: Iterable<string>): VHost {
  const vhost = makeVHost();
  declareExchange(vhost, "t", "topic");
  for (const pattern of patterns) {
    declareQueue(vhost, `q:${pattern}`);
    bindQueue(vhost, "t", `q:${pattern}`, { key: pattern });
  }
  return vhost;
}

function matched(vhost: VHost, key: string): string[] {
  return routed(vhost, "t", message(key)).map((name) => name.slice(2));
}

Deno.test("TOPIC matches * with one word and # with any number", () => {
  const vhost = makeTopic(["*.orange.*", "*.*.rabbit", "lazy.#", "#", "quick.orange.rabbit"]);
  assertEquals(matched(vhost, "quick.orange.rabbit"), [
    "#",
    "*.*.rabbit",
    "*.orange.*",
    "quick.orange.rabbit",
  ]);
  assertEquals(matched(vhost, "lazy"), ["#", "lazy.#"]);
  assertEquals(matched(vhost, "lazy.pink.rabbit"), ["#", "*.*.rabbit", "lazy.#"]);
  assertEquals(matched(vhost, "orange"), ["#"]);
});

Deno.test("TOPIC gives the empty key no words and a.b. an empty third one", () => {
  const vhost = makeTopic(["", "*", "#", "a.b", "a.b.*", "a.*", "*.", ".", "#.#"]);
  assertEquals(matched(vhost, ""), ["", "#", "#.#"]);
  assertEquals(matched(vhost, "a.b."), ["#", "#.#", "a.b.*"]);
  assertEquals(matched(vhost, "a."), ["#", "#.#", "*.", "a.*"]);
  assertEquals(matched(vhost, "."), ["#", "#.#", "*.", "."]);
});

Deno.test("TOPIC takes * and # inside a word literally", () => {
  const vhost = makeTopic(["a*", "a#.b", "**"]);
  assertEquals(matched(vhost, "ab"), []);
  assertEquals(matched(vhost, "a*"), ["a*"]);
  assertEquals(matched(vhost, "a#.b"), ["a#.b"]);
  assertEquals(matched(vhost, "**"), ["**"]);
});

Deno.test("TOPIC delivers once however many patterns of a queue match", () => {
  const vhost = makeTopic([]);
  declareQueue(vhost, "q:all");
  for (const pattern of ["#", "a.#", "*.b", "a.b", "#.b.#"]) {
    bindQueue(vhost, "t", "q:all", { key: pattern });
  }
  assertEquals(matched(vhost, "a.b"), ["all"]);
});

const word = fc.constantFrom("a", "b", "c", "", "*", "#", "#", "long-word");
const pattern = fc.array(word, { maxLength: 6 }).map((words) => words.join("."));
const keyWord = fc.constantFrom("a", "b", "c", "", "long-word", "other");
const key = fc.array(keyWord, { maxLength: 7 }).map((words) => words.join("."));

Deno.test("TOPIC agrees with the naive matcher while bindings come and go", () => {
  const run = fc.record({
    patterns: fc.uniqueArray(pattern, { maxLength: 12 }),
    removed: fc.array(fc.nat(11), { maxLength: 8 }),
    keys: fc.array(key, { minLength: 1, maxLength: 6 }),
  });
  fc.assert(
    fc.property(run, ({ patterns, removed, keys }) => {
      const vhost = makeTopic(patterns);
      const left = new Set(patterns);
      for (const at of removed) {
        const gone = patterns[at];
        if (gone === undefined) continue;
        const named = { queue: `q:${gone}`, exchange: "t", routingKey: gone, args: args() };
        vhost.unbindQueue(named, ALICE);
        left.delete(gone);
      }
      for (const one of keys) {
        const expected = [...left].filter((p) => matches(wordsOf(p), wordsOf(one)));
        assertEquals(matched(vhost, one), expected.sort());
      }
    }),
    { seed: 13, numRuns: 500 },
  );
});

Deno.test("TOPIC visits a bounded number of nodes for patterns full of #", () => {
  // A matcher that backtracks would need more steps than there are atoms.
  const patterns = ["#.a.".repeat(60) + "b", "#.*.".repeat(60) + "b", "#.a.".repeat(60) + "#"];
  const vhost = makeTopic(patterns);
  const longKey = Array.from({ length: 127 }, () => "a").join(".");
  assertEquals(matched(vhost, longKey), [patterns[2]!]);
});

Deno.test("TOPIC asks no more bindings than can match", () => {
  const vhost = makeVHost();
  const topic = declareExchange(vhost, "t", "topic");
  declareExchange(vhost, "sink", "fanout");
  for (let i = 0; i < 5000; i++) bindExchange(vhost, "t", "sink", `region.${i}.#`);
  let lookups = 0;
  const result = {
    addAll: () => {
      lookups += 1;
    },
  };
  topic.table.match("region.77.load", message("region.77.load"), result as never);
  assertEquals(lookups, 1);
  assertLess(lookups, topic.bindings.size);
});

Deno.test("TOPIC forgets words and nodes with their last binding", () => {
  const vhost = makeTopic(["a.*.c", "a.#", "a.*.d"]);
  for (const gone of ["a.*.c", "a.#", "a.*.d"]) {
    const named = { queue: `q:${gone}`, exchange: "t", routingKey: gone, args: args() };
    vhost.unbindQueue(named, ALICE);
  }
  assertEquals(matched(vhost, "a.b.c"), []);
  bindQueue(vhost, "t", "q:a.#", { key: "a.b.c" });
  assertEquals(matched(vhost, "a.b.c"), ["a.#"]);
});
