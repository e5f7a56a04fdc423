// Nothing that a client sees precedes its entry (ARCHITECTURE.md "A turn"): a node that is killed at the
// moment in which a frame reaches the client starts again with what the frame says. The messages are on
// the disk alone, so that everything has to wait for a read first.

import { assertEquals } from "@std/assert";
import * as M from "../../src/amqp/methods_gen.ts";
import { ByteWriter } from "../../src/lib/byte_writer.ts";
import { checkStore } from "../../src/store/recovery/folder_check.ts";
import { ReadOnlyFileSystem } from "../../src/store/read_only_file_system.ts";
import { AmqpClient, type Incoming } from "../support/amqp_client.ts";
import type { ClientChannel } from "../support/client_channel.ts";
import { DurableNode } from "../support/durable_node.ts";
import { MemoryDisk } from "../support/memory_disk.ts";
import type { Plain } from "../support/test_broker.ts";

const DURABLE = { durable: true };
const KEPT = { properties: { deliveryMode: 2 } };

/** A client that keeps what was on the disk when each method reached it. */
class Witness extends AmqpClient {
  readonly #disk: MemoryDisk;
  readonly #then = new Map<Incoming, MemoryDisk>();

  constructor(disk: MemoryDisk) {
    super();
    this.#disk = disk;
  }

  override arrived(incoming: Incoming): void {
    this.#then.set(incoming, copyOf(this.#disk));
    super.arrived(incoming);
  }

  /** What was on the disk when the first method `key` came. */
  diskAt(key: number, channel = 1): MemoryDisk {
    return this.#then.get(this.expect(key, channel))!;
  }

  /** The node that starts after this one was killed at that moment. */
  killedAt(key: number): DurableNode {
    return new DurableNode(this.diskAt(key));
  }
}

function copyOf(disk: MemoryDisk): MemoryDisk {
  const copy = new MemoryDisk();
  for (const path of disk.paths()) {
    const bytes = disk.contentOf(path)!;
    const handle = copy.open(path, "create");
    if (bytes.length > 0) handle.write(bytes, 0, bytes.length, 0);
    handle.close();
  }
  return copy;
}

/** A client of a node that has messages on its disk alone. */
function witnessOf(
  messages: Plain,
  args: Plain = {},
): { life: DurableNode; client: Witness; channel: ClientChannel } {
  const first = new DurableNode();
  const before = first.node.connect().channel();
  before.queue("dead", {}, DURABLE);
  for (const [name, count] of Object.entries(messages)) {
    before.queue(name, args, DURABLE);
    for (let i = 1; i <= Number(count); i++) before.publish(name, `${name}${i}`, KEPT);
  }
  const life = first.restart();
  const client = life.node.attach(new Witness(life.disk)).login();
  return { life, client, channel: client.channel() };
}

/** The messages of a queue: body, flag and count. */
function contentOf(life: DurableNode, name: string): string[] {
  const channel = life.node.connect().channel();
  const found: string[] = [];
  for (let next = channel.get(name, true); next !== null; next = channel.get(name, true)) {
    const count = next.properties.headers?.get("x-delivery-count");
    const spent = count?.tag === "l" ? count.value : 0;
    found.push(`${next.body} ${next.redelivered ? "again" : "new"} ${spent}`);
  }
  return found;
}

Deno.test("a delivery is written before get-ok leaves, also when the message had to be read", () => {
  const { client, channel } = witnessOf({ q: 2 }, { "x-delivery-limit": 9 });
  channel.send(M.BASIC_GET, { queue: "q" });
  assertEquals(contentOf(client.killedAt(M.BASIC_GET_OK), "q"), ["q1 again 1", "q2 new 0"]);
});

Deno.test("a message is gone when its get-ok without acknowledgement leaves", () => {
  const { client, channel } = witnessOf({ q: 2 });
  channel.send(M.BASIC_GET, { queue: "q", noAck: true });
  assertEquals(contentOf(client.killedAt(M.BASIC_GET_OK), "q"), ["q2 new 0"]);
});

Deno.test("a delivery to a consumer is written before it leaves when it had to be read", () => {
  const { client, channel } = witnessOf({ q: 2 }, { "x-delivery-limit": 9 });
  channel.qos(1);
  channel.send(M.BASIC_CONSUME, { queue: "q" });
  assertEquals(contentOf(client.killedAt(M.BASIC_DELIVER), "q"), ["q1 again 1", "q2 new 0"]);
});

Deno.test("what a channel gives back is written before its close leaves, whatever it was closed for", () => {
  const { life, client, channel } = witnessOf({ q: 2, other: 1 });
  channel.get("q");
  life.disk.failNext("read", "EIO");
  channel.send(M.BASIC_GET, { queue: "other" });
  const { queues } = checkStore(new ReadOnlyFileSystem(client.diskAt(M.CHANNEL_CLOSE)));
  const { ready, out } = queues.find(({ name }) => name === "q")!;
  assertEquals([ready, out], [2, 0]);
});

Deno.test("what a connection gives back is written before its close leaves, also when we failed", () => {
  const { life, client, channel } = witnessOf({ q: 2, other: 1 });
  channel.get("q");
  const { ensure } = ByteWriter.prototype;
  life.hold();
  channel.send(M.BASIC_CONSUME, { queue: "other" });
  let isArmed = true;
  ByteWriter.prototype.ensure = function (byteCount) {
    // The first frame that is written from here on is that delivery.
    if (isArmed && this.byteCount === 0 && byteCount > 40) {
      isArmed = false;
      throw new Error("a bug");
    }
    ensure.call(this, byteCount);
  };
  try {
    life.release();
  } finally {
    ByteWriter.prototype.ensure = ensure;
  }
  const { queues } = checkStore(new ReadOnlyFileSystem(client.diskAt(M.CONNECTION_CLOSE, 0)));
  assertEquals(queues.map(({ name, ready, out }) => [name, ready, out]), [
    ["dead", 0, 0],
    ["q", 2, 0],
    ["other", 1, 0],
  ]);
});
