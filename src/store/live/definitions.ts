// The durable definitions, which a snapshot writes. LogEntries keeps them and recovery fills them
// in. The values are JSON that the broker has made; only the id of a queue is read here.

import type { DefinitionKind } from "../port.ts";

/** The definitions that recovery has found. */
export interface RecoveredDefinitions {
  readonly definitions: Readonly<Record<DefinitionKind, ReadonlyMap<string, unknown>>>;
  /** The highest queue id that was ever used. */
  readonly queueIdMax: number;
}

/** Exchanges, queues and bindings by key. */
export class Definitions {
  readonly #byKind: Record<DefinitionKind, Map<string, unknown>>;
  /** The highest queue id that was ever used. */
  lastQueueId: number;

  constructor(recovered: RecoveredDefinitions) {
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

  /**
   * Returns the definitions one after the other. Those that come or go meanwhile may be among them
   * or not.
   */
  *all(): Iterator<{ kind: DefinitionKind; key: string; value: unknown }, undefined> {
    for (const [kind, values] of Object.entries(this.#byKind)) {
      for (const [key, value] of values) yield { kind: kind as DefinitionKind, key, value };
    }
  }
}
