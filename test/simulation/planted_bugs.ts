// Nodes with one bug each, to prove that the simulation can fail: parts of a node that do almost what
// they should. Used by the simulation's own test only.

import { type OnDue, Scheduler } from "../../src/schedule/scheduler.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import type { ReadyLane } from "../../src/store/port.ts";
import type { NodeOptions } from "../support/test_node.ts";

/** Timers of the node itself have the first groups; those of retry queues come later. */
const NODE_GROUPS = 3;

/** Retries come back one millisecond early. */
class HastyScheduler extends Scheduler {
  readonly #retryGroups = new Set<number>();
  #groupCount = 0;

  override openGroup(onDue: OnDue): number {
    const group = super.openGroup(onDue);
    if (++this.#groupCount > NODE_GROUPS) this.#retryGroups.add(group);
    return group;
  }

  override insert(group: number, dueMs: number, payload: number): number {
    return super.insert(group, this.#retryGroups.has(group) ? dueMs - 1 : dueMs, payload);
  }
}

/** Changes what a lane does. */
function storeWith(change: (lane: ReadyLane) => void): MemoryStore {
  const store = new MemoryStore();
  const openLane = store.openLane.bind(store);
  store.openLane = (laneId: number) => {
    const opened = openLane(laneId);
    change(opened);
    return opened;
  };
  return store;
}

function forgetful(): MemoryStore {
  let count = 0;
  return storeWith((lane) => {
    const restore = lane.restore.bind(lane);
    lane.restore = (position, ref, entry, expiryMs) => {
      if (++count % 10 !== 0) restore(position, ref, entry, expiryMs);
    };
  });
}

function miscounting(): MemoryStore {
  return storeWith((lane) => {
    const restore = lane.restore.bind(lane);
    lane.restore = (position, ref, entry, expiryMs) => {
      const isCounted = (entry & 0xff) > 1;
      restore(position, ref, isCounted ? entry - 1 : entry, expiryMs);
    };
  });
}

function disorderly(): MemoryStore {
  let count = 0;
  return storeWith((lane) => {
    const push = lane.push.bind(lane);
    let kept: [ref: number, entry: number, expiryMs: number] | null = null;
    lane.push = (ref, entry, expiryMs) => {
      // Now and then two messages change places.
      if (kept === null && ++count % 10 === 0 && lane.messageCount > 0) {
        kept = [ref, entry, expiryMs];
        return 0;
      }
      const position = push(ref, entry, expiryMs);
      if (kept !== null) push(...kept);
      kept = null;
      return position;
    };
  });
}

function leaking(): MemoryStore {
  const store = new MemoryStore();
  const release = store.release.bind(store);
  let count = 0;
  store.release = (...args) => {
    if (++count % 50 !== 0) release(...args);
  };
  return store;
}

/** Nodes by the name of their bug. */
export const PLANTED_BUGS: Readonly<Record<string, () => NodeOptions>> = {
  "retries come back one millisecond early": () => ({ scheduler: new HastyScheduler() }),
  "a requeued message is lost now and then": () => ({ store: forgetful() }),
  "deliveries are counted too low": () => ({ store: miscounting() }),
  "messages change places": () => ({ store: disorderly() }),
  "memory of messages is not given back": () => ({ store: leaking() }),
};
