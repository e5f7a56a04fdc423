// How often a delayed message is written to a page before it is due, when those of a queue wake one by
// one over a long time and there is hardly any memory.

import { assertGreater, assertLess } from "@std/assert";
import { CAUSE_REJECT } from "../../../../src/broker/retry/rules.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import { MemoryDisk } from "../../../support/memory_disk.ts";
import { TestChannel } from "../../../support/test_broker.ts";
import { PagedNode } from "../support/paged_node.ts";

const DELAY_MS = 400_000;
const SIZES = { delayedLeadMs: 1000, laneSlots: 256, sparePageMessagesMin: 16, pageBytes: 65_536 };

Deno.test("FileStore writes messages that wake one by one to few pages each", () => {
  const node = new PagedNode(new MemoryDisk(), { sizes: SIZES });
  const prng = new Prng(7);
  Object.assign(node.t.broker, { random: () => prng.nextFloat() });
  const args = { "x-delayed-retry-min": DELAY_MS, "x-delayed-retry-jitter": 100 };
  const { retries } = node.queue("q", args);
  const { delayed } = retries!;
  const pushPage = delayed.pushPage.bind(delayed);
  let written = 0;
  delayed.pushPage = (page) => {
    written += page.count;
    pushPage(page);
  };
  let rejected = 0;
  for (let seconds = 0; seconds < 800; seconds++) {
    node.t.publish("q", "x", { deliveryMode: 2 });
    const channel = new TestChannel();
    for (let seen = node.get("q", channel); seen !== null; seen = node.get("q", channel)) {
      const isNew = seen.deliveryCount === 0;
      if (isNew) channel.unacked.reject(seen.tag, false, true, CAUSE_REJECT);
      else channel.unacked.ack(seen.tag, false);
      if (isNew) rejected++;
    }
    node.t.turn(1000);
    node.settle();
  }
  assertGreater(written, rejected / 2);
  assertLess(written, rejected * 6);
});
