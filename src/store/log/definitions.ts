// The durable definitions as they stand: what a snapshot has to write of them. Kept by LogEntries, filled
// by recovery; the values are JSON of the broker's making and are not looked at, but for a queue's id.

import type { DefinitionKind } from "../port.ts";
import type { Recovered } from "./recovery.ts";

/** Exchanges, queues and bindings by key. */
export class Definitions {
  readonly #byKind: Record<DefinitionKind, Map<string, unknown>>;
  /** Highest queue id that was ever used. */
  lastQueueId: number;

  constructor(recovered: Recovered) {
    this.#byKind = {
      exchange: new Map(recovered.definitions.exchange),
      queue: new Map(recovered.definitions.queue),
      binding: new Map(recovered.definitions.binding),
      deleted: new Map(recovered.definitions.deleted),
    };
    this.lastQueueId = recovered.queueIdMax;
  }

  set(kind: DefinitionKind, key: string, value: unknown): void {
    this.#byKind[kind].set(key, value);
    if (kind !== "queue") return;
    this.lastQueueId = Math.max(this.lastQueueId, (value as { id: number }).id);
  }

  delete(kind: DefinitionKind, key: string): void {
    this.#byKind[kind].delete(key);
  }

  /** One after the other; those that come or go meanwhile may be among them or not. */
  *all(): Iterator<{ kind: DefinitionKind; key: string; value: unknown }, undefined> {
    for (const [kind, values] of Object.entries(this.#byKind)) {
      for (const [key, value] of values) yield { kind: kind as DefinitionKind, key, value };
    }
  }
}
