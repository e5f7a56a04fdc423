// What publishers see of a disk that takes no more, and what needs no disk at all (docs/storage.md
// "Errors of the disk").

import { assert, assertEquals } from "@std/assert";
import type { ClientChannel } from "../support/client_channel.ts";
import { openStore } from "../support/disk_store.ts";
import { DurableNode } from "../support/durable_node.ts";
import { MemoryDisk } from "../support/memory_disk.ts";
import { TestNode } from "../support/test_node.ts";

const DURABLE = { durable: true };
const KEPT = { properties: { deliveryMode: 2 } };

function channelOf(life: DurableNode): ClientChannel {
  return life.node.connect().channel();
}

Deno.test("what is not kept is declared and published before the disk has finished anything", () => {
  const channel = new TestNode({ store: openStore(new MemoryDisk()) }).connect().channel();
  channel.queue("q", {}, { durable: false });
  channel.exchange("x", "direct");
  channel.bind("q", "x", "k");
  channel.publish("k", "m", { exchange: "x" });
  assertEquals(channel.get("q")!.body, "m");
});

Deno.test("a persistent publish without confirms that cannot be kept closes its channel with 506", () => {
  const life = new DurableNode();
  const first = channelOf(life);
  first.queue("q", {}, DURABLE);
  first.queue("fleeting", {}, { durable: false });
  life.disk.quotaBytes = 0;
  first.publish("q", "1", KEPT);
  assert(life.store.isReadOnly);
  const channel = channelOf(life);
  channel.publish("fleeting", "2", KEPT);
  assertEquals(channel.client.inbox.length, 0);
  channel.publish("q", "2", KEPT);
  const { replyCode, replyText } = channel.takeClose();
  assertEquals(
    [replyCode, replyText],
    [506, "RESOURCE_ERROR - persistent messages cannot be stored at the moment"],
  );
});
