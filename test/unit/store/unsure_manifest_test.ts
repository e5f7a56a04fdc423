// What is in a folder when the disk could not say that the manifest was replaced.

import { assert, assertEquals } from "@std/assert";
import { Prng } from "../../../src/lib/prng.ts";
import { MemoryDisk } from "../../support/memory_disk.ts";
import { numberOf, PagedNode, range } from "./support/paged_node.ts";
import { TestChannel } from "../../support/test_broker.ts";

Deno.test("FileStore keeps a snapshot that a manifest names although it could not be made safe", () => {
  const crashes = [
    { kind: "process" },
    ...range(1, 6).map((seed) => ({
      kind: "power",
      prng: new Prng(seed),
    })),
  ] as const;
  for (const how of crashes) {
    let node = new PagedNode(new MemoryDisk());
    node.queue("q");
    node.publish("q", 0, 4);
    node.disk.failNext("write", "EIO", "log-");
    const channel = new TestChannel();
    assertEquals(numberOf(node.get("q", channel)!), 0);
    node.t.turn(1);
    node.disk.failNext("syncFolder", "EIO", "");
    for (let turns = 0; turns < 10; turns++) {
      node.t.turn(1);
      node.disk.finish();
    }
    assert(node.errors.includes("cannot replace the manifest"), node.errors.join());
    node.settle();
    node = node.crash(how as { kind: "process" });
    assertEquals([node.find("q").readyCount, node.store.recovered.damages], [4, []]);
  }
});
