// The list of delayed messages as the management API answers it, for a node on a simulated disk. Reads
// end between the turns of the list, and time stands still.

import type { RetryName } from "../../../../src/broker/retry/name.ts";
import { RetryLookup } from "../../../../src/broker/retry/lookup.ts";
import { type FoundRetry, SCAN_DONE } from "../../../../src/broker/retry/scan.ts";
import { retriesJson } from "../../../../src/management/api/retries.ts";
import type { ManagementContext } from "../../../../src/management/context.ts";
import { ListDesk } from "../../../../src/management/list_desk.ts";
import { Slices } from "../../../../src/management/slices.ts";
import type { PagedNode } from "./paged_node.ts";

/** A listed message. */
export interface Listed {
  id: string;
  due: number;
  attempts: number;
  size: number;
  exchange: string | null;
  routing_key: string | null;
  age: number;
  expires: number | null;
}

/** An answer. */
export interface Answer {
  items: Listed[];
  filtered_count: number;
  total_count: number;
}

/** Asks for the list; `meanwhile` is called after each turn of it. */
export async function answer(
  node: PagedNode,
  name: string,
  query: Record<string, string> = {},
  meanwhile: () => void = () => {},
): Promise<Answer> {
  const pause = () => Promise.resolve();
  const turn = (run: () => unknown) => {
    const result = run();
    queueMicrotask(() => {
      node.settle();
      meanwhile();
    });
    return result;
  };
  const room = {
    context: { turn } as ManagementContext,
    slices: new Slices(pause),
    desk: new ListDesk({ pause, nowMs: () => 0 }),
  };
  return await retriesJson(node.find(name), (key) => query[key], room) as Answer;
}

/** All delayed messages, from one page after the other. */
export async function listed(node: PagedNode, name: string, pageSize = 500): Promise<Listed[]> {
  const all: Listed[] = [];
  for (;;) {
    const after: Record<string, string> = all.length === 0 ? {} : { after: all.at(-1)!.id };
    const { items } = await answer(node, name, { page_size: `${pageSize}`, ...after });
    if (items.length === 0) return all;
    all.push(...items);
  }
}

/** Finds a delayed message by its name, while reads end. */
export function lookUp(node: PagedNode, name: string, retry: RetryName): FoundRetry | null {
  const lookup = new RetryLookup(node.find(name).retries!.delayed, retry);
  while (lookup.step(64, () => {}) !== SCAN_DONE) node.settle();
  lookup.end();
  return lookup.found;
}
