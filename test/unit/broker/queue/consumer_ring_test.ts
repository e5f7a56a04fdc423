// The order in which consumers of a queue are served.

import { assertEquals } from "@std/assert";
import type { Consumer } from "../../../../src/broker/queue/consumer.ts";
import { ConsumerRing } from "../../../../src/broker/queue/consumer_ring.ts";

/** A consumer whose room a test decides. */
function consumer(tag: string, priority = 0): Consumer & { room: number } {
  const fake = {
    tag,
    priority,
    room: Infinity,
    isBlocked: false,
    isCancelled: false,
    hasCapacity: () => fake.room > 0,
  };
  return fake as unknown as Consumer & { room: number };
}

function setUp(...tags: string[]) {
  const ring = new ConsumerRing();
  const all = tags.map((tag) => consumer(tag));
  for (const one of all) ring.add(one);
  return { ring, all };
}

function served(ring: ConsumerRing, count: number): string {
  let tags = "";
  for (let index = 0; index < count; index++) tags += ring.next()?.tag ?? "-";
  return tags;
}

Deno.test("ConsumerRing serves consumers in turn", () => {
  assertEquals(served(setUp("a", "b", "c").ring, 7), "abcabca");
});

Deno.test("ConsumerRing puts a new consumer behind all others", () => {
  const { ring } = setUp("a", "b", "c");
  assertEquals(served(ring, 1), "a");
  ring.add(consumer("d"));
  assertEquals(served(ring, 5), "bcadb");
});

Deno.test("ConsumerRing puts a consumer that has room again behind all others", () => {
  const { ring, all } = setUp("a", "b", "c");
  all[0]!.room = 0;
  assertEquals(served(ring, 1), "b");
  all[0]!.room = 1;
  ring.unblock(all[0]!);
  assertEquals(served(ring, 4), "cbac");
});

Deno.test("ConsumerRing.putFirst() makes it the turn of a consumer, blocked or not", () => {
  const { ring, all } = setUp("a", "b", "c");
  ring.putFirst(all[2]!);
  assertEquals(served(ring, 3), "cab");
  all[0]!.room = 0;
  assertEquals(served(ring, 3), "cbc");
  all[0]!.room = 1;
  ring.putFirst(all[0]!);
  assertEquals(served(ring, 3), "abc");
});

Deno.test("ConsumerRing serves a lower priority when the higher one has no room", () => {
  const { ring, all } = setUp("a", "b");
  const high = consumer("h", 1);
  ring.add(high);
  assertEquals(served(ring, 2), "hh");
  high.room = 0;
  assertEquals(served(ring, 2), "ab");
  for (const one of all) one.room = 0;
  assertEquals(served(ring, 1), "-");
});

Deno.test("ConsumerRing.remove() keeps the turns of the others", () => {
  const { ring, all } = setUp("a", "b", "c");
  assertEquals(served(ring, 2), "ab");
  ring.remove(all[0]!);
  assertEquals(served(ring, 3), "cbc");
});
