// The last life of a simulated node: nothing goes wrong any more, clients take everything out and ack
// it, and then nothing must be left, neither in queues nor in memory nor on the disk.

import { MemoryDisk } from "../../support/memory_disk.ts";
import { Violation } from "./ledger.ts";
import { bodyOf } from "./messages.ts";
import { openStore, type SimNode, type World } from "./node.ts";
import type { Dice } from "./plan.ts";
import { readRows } from "./rows.ts";

const LATENESS_MS = 10_000;
// So many times as long is beyond the longest delay there is.
const LATENESS_DOUBLINGS_MAX = 19;
const FRUITLESS_ROUNDS_MAX = 200;

/** Empties a node and closes it; returns how many disk operations that took. */
export async function drain(world: World, node: SimNode, dice: Dice): Promise<number> {
  world.trace("drain");
  consumeAll(world, node);
  node.audit();
  const left = [...world.ledger.live.rows()].map(({ row }) => row.key);
  if (left.length > 0) throw new Violation(`never delivered: ${left}`);
  if (world.messages.waitingCount > 0) throw new Violation("a confirm never comes");
  if (node.store.liveMessageCount > 0) {
    throw new Violation(`${node.store.liveMessageCount} messages are held by nobody`);
  }
  renewLog(world, node);
  checkRoom(world, node);
  await closeOrderly(world, node, dice);
  return world.disk.operationCount;
}

// Goes on as long as it gets less: without memory, each message takes a round to be read. While it does
// not, time goes faster and faster: a message that was often rejected may wait for days.
function consumeAll(world: World, node: SimNode): void {
  let least = Infinity;
  let lessAt = 0;
  for (let round = 0; round < lessAt + FRUITLESS_ROUNDS_MAX; round++) {
    const doublings = Math.min(round - lessAt, LATENESS_DOUBLINGS_MAX);
    node.turn(() => {
      for (const channel of node.channels) {
        for (const held of channel.visible()) {
          node.watch.acking.add(held.key);
          channel.settled(held.tag, false);
          channel.unacked.ack(held.tag, false);
        }
      }
      for (const queue of node.t.vhost.queues.values()) {
        if (queue.consumers.count > 0) continue;
        const channel = node.openChannel();
        const options = { channel, tag: "drain", noAck: false, prefetch: 0, priority: 0 };
        channel.consumers.push(queue.consume({ ...options, exclusive: false }));
      }
    }, round < 3 ? 0 : LATENESS_MS * 2 ** doublings);
    world.disk.finishAll();
    let left = node.t.broker.deadLetters.backlog;
    for (const queue of node.t.vhost.queues.values()) {
      left += queue.readyCount + queue.delayedCount + queue.unackedCount;
    }
    if (left === 0) break;
    if (left < least) {
      least = left;
      lessAt = round;
    }
  }
  node.rest();
}

// Goes on publishing and acking until what was written before has been overtaken by snapshots.
function renewLog(world: World, node: SimNode): void {
  const { plan, disk } = world;
  const goalBytes = 3 * (plan.sizes.snapshotLogBytes + plan.sizes.logFileBytes);
  const bodyBytes = Math.ceil(goalBytes / 40);
  node.turn(() => node.t.queue("filler", {}, { durable: true }));
  for (let count = 0; count < 60; count++) {
    node.turn(() => {
      const batch = node.store.openBatch;
      const about = { life: world.life, isPersistent: true, bodyBytes, batch };
      const { id } = world.messages.publish(about);
      node.t.publish("filler", bodyOf(id, bodyBytes), { messageId: id, deliveryMode: 2 });
    });
    disk.finishAll();
    consumeAll(world, node);
  }
}

function checkRoom(world: World, node: SimNode): void {
  const { plan, disk } = world;
  const { sizes } = plan;
  const record = 4 * Math.ceil((sizes.snapshotLogBytes + sizes.logFileBytes) / 10);
  const bound = 3 * (sizes.snapshotLogBytes + sizes.logFileBytes) + record + 20_000;
  const files = disk.paths().filter((path) => path !== "RESERVE");
  const byteCounts = files.map((path) => disk.contentOf(path)!.length);
  if (byteCounts.reduce((sum, byteCount) => sum + byteCount, 0) > bound) {
    const found = files.map((path, index) => `${path} (${byteCounts[index]})`);
    throw new Violation(`an empty node keeps too much on disk: ${found}`);
  }
  const fresh = new MemoryDisk();
  const empty = openStore(plan, fresh, () => {});
  const slackBytes = 600_000;
  if (node.store.memoryBytes > empty.memoryBytes + slackBytes) {
    throw new Violation(`an empty node keeps ${node.store.memoryBytes} bytes of memory`);
  }
}

// What an orderly end has closed is all there after a power loss.
async function closeOrderly(world: World, node: SimNode, dice: Dice): Promise<void> {
  const { plan, disk, ledger, trace } = world;
  const closing = node.store.close(node.nowMs);
  disk.finishAll();
  await closing.catch((error: Error) => {
    throw new Violation(`cannot end: ${error.message}`);
  });
  if (disk.openCount > 0) throw new Violation(`${disk.openCount} handles are left open`);
  ledger.died("process", node.store);
  const next = disk.crash(
    plan.isSynced ? { kind: "power", prng: dice.prng } : { kind: "process" },
  );
  const store = openStore(plan, next, trace);
  ledger.recovered(store.recovered, readRows(next, store));
}
