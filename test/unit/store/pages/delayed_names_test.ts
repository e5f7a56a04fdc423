// What names a delayed message: the same from its reject until it is due, wherever it is meanwhile.

import { assertEquals, assertGreater } from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { listed } from "../support/delayed_list.ts";
import { PagedNode, range } from "../support/paged_node.ts";

const DELAY_MS = 60_000;

// The numbers of the delays, without their due times.
async function idsIn(node: PagedNode): Promise<number[]> {
  return (await listed(node, "q")).map(({ id }) => Number(id.split("-")[1]));
}

Deno.test("a delayed message is named as before when it was in a page, and after a crash", async () => {
  let node = new PagedNode(new MemoryDisk(), { sizes: { delayedLeadMs: 100 } });
  const args = { "x-delayed-retry-min": DELAY_MS, "x-delayed-retry-multiplier": 1 };
  const { retries } = node.queue("q", args);
  node.publish("q", 0, 8);
  const seen: number[] = [];
  for (let first = 8; first <= 408; first += 8) {
    const channel = new TestChannel();
    for (let number = 0; number < 8; number++) node.get("q", channel);
    channel.unacked.reject(0, true, true, CAUSE_REJECT);
    seen.push(...(await idsIn(node)).filter((id) => !seen.includes(id)));
    node.publish("q", first, 8);
    node.t.turn(1);
  }
  assertEquals(seen, range(1, 408));
  assertGreater(retries!.delayed.pagedCount, 200);
  for (const isCrash of [false, true]) {
    if (isCrash) node = node.crash();
    const { nextDueMs } = node.find("q").retries!.delayed;
    node.t.turn(nextDueMs - node.t.nowMs - 1);
    node.settle();
    assertEquals((await idsIn(node)).slice(0, 16), range(1, 16));
  }
});
