// A data folder from before misspelt retry arguments were refused: its queues start, ignore them as
// they did, and the log says so.

import { assertEquals, assertStringIncludes } from "@std/assert";
import * as M from "../../src/amqp/methods_gen.ts";
import { DurableNode } from "../support/durable_node.ts";
import { type Plain, table } from "../support/test_broker.ts";

const MISSPELT = "x-delayed-retry-minimum";
const KEPT = { properties: { deliveryMode: 2 } };

/** A folder with the definitions that a broker wrote which took any argument. */
function olderFolder(queueCount: number): DurableNode {
  const life = new DurableNode();
  life.node.engine.turn(() => {
    for (let i = 0; i < queueCount; i++) {
      const name = `q${i}`;
      const args = [[MISSPELT, "l", 1000], ["x-max-length", "l", 5]];
      const value = { vhost: "/", id: 100 + i, name, autoDelete: false, arguments: args };
      life.store.entries.defined("queue", JSON.stringify(["/", name]), value);
    }
  });
  life.node.settle();
  return life;
}

function warnings(life: DurableNode) {
  return life.node.logs.filter(({ level, message }) =>
    level === "warn" && message.includes("retry argument")
  );
}

Deno.test("a stored queue with a misspelt retry argument starts, ignores it and is warned of", () => {
  const life = olderFolder(1).restart();
  assertEquals(warnings(life).map(({ fields }) => fields), [
    { vhost: "/", queue: "q0", argument: MISSPELT, meant: "x-delayed-retry-min" },
  ]);
  const channel = life.node.connect().channel();
  channel.publish("q0", "x", KEPT);
  // No delay, no limit, and the arguments beside it hold.
  for (let delivery = 0; delivery < 30; delivery++) channel.reject(channel.get("q0")!.tag, true);
  assertEquals(life.node.queue("q0").args.lengthMax, 5);
  assertEquals(life.node.queue("q0").retries, null);
  // Each start says so again, and nothing is lost by it.
  const next = life.restart();
  assertEquals(warnings(next).length, 1);
  assertEquals(next.node.connect().channel().get("q0")!.body, "x");
});

Deno.test("a stored queue is declared again with its misspelt argument, and with no other", () => {
  const client = olderFolder(1).restart().node.connect();
  client.channel().queue("q0", { [MISSPELT]: 1000, "x-max-length": 5 }, { durable: true });
  client.channel().queue("q0", { "x-max-length": 5 }, { durable: true });
  const others: Plain[] = [{ [MISSPELT]: 1001 }, { "x-delayed-retry-mini": 1000 }];
  for (const other of others) {
    const channel = client.channel();
    const args = table({ ...other, "x-max-length": 5 });
    channel.send(M.QUEUE_DECLARE, { queue: "q0", durable: true, arguments: args });
    const { replyCode, replyText } = channel.takeClose();
    assertEquals(replyCode, 406);
    assertStringIncludes(replyText, "did you mean 'x-delayed-retry-min'?");
  }
  // Once it is deleted there is nothing to be kept.
  const channel = client.channel();
  channel.rpc(M.QUEUE_DELETE, { queue: "q0" }, M.QUEUE_DELETE_OK);
  channel.send(M.QUEUE_DECLARE, { queue: "q0", arguments: table({ [MISSPELT]: 1000 }) });
  assertEquals(channel.takeClose().replyCode, 406);
});

Deno.test("a start with many misspelt arguments names the first and counts the rest", () => {
  const logged = warnings(olderFolder(500).restart());
  assertEquals(logged.length, 21);
  assertEquals(logged.at(-1)!.fields, { arguments: 480 });
});
