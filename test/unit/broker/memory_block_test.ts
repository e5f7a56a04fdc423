// Publishers are blocked above the limit of memory, and let go clearly below it, so that they are not
// blocked and let go by every message that comes and goes.

import { assertEquals } from "@std/assert";
import { TestBroker } from "../../support/test_broker.ts";

Deno.test("Broker blocks above its limit of memory and lets go at 95 percent of it", () => {
  const t = new TestBroker();
  const { broker } = t;
  const limit = broker.limits.memoryBytesMax;
  const own = broker.memoryBytes;
  const blockedAt = (part: number): boolean => {
    broker.extraMemoryBytes = Math.floor(limit * part) - own;
    t.turn();
    return broker.isMemoryBlocked;
  };
  const parts = [0.96, 1, 1.01, 0.99, 0.96, 0.94, 0.96, 1, 1.01];
  const blocked = [false, false, true, true, true, false, false, false, true];
  assertEquals(parts.map(blockedAt), blocked);
});
