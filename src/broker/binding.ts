// A binding, and the unordered lists of bindings that exchanges route by. Made and destroyed by
// Bindings (bindings.ts); exchange types keep each binding in exactly one list, so that removing one
// of a million costs the same as removing the only one.

import { assert } from "../lib/assert.ts";
import type { FieldTable } from "../amqp/field_value.ts";
import type { Exchange } from "./exchange.ts";
import type { Queue } from "./queue.ts";

/** What a binding leads to. */
export type DestinationType = "queue" | "exchange";

/** One binding from an exchange to a queue or to another exchange. */
export class Binding {
  /** The exchange it starts from. */
  readonly source: Exchange;
  /** The queue it leads to; null if it leads to an exchange. */
  readonly queue: Queue | null;
  /** The exchange it leads to; null if it leads to a queue. */
  readonly exchange: Exchange | null;
  /** The routing key or pattern. */
  readonly routingKey: string;
  /** The arguments as given. */
  readonly args: FieldTable;
  /** Tells this binding from every other one of its source. */
  readonly key: string;
  /** Tells it from every other one between the same two ends, as the management API names it. */
  readonly propertiesKey: string;
  /** Batch that has its definition; 0 when none has, or an earlier life of the node. */
  definedBatch = 0;
  /** Place in its {@link BindingList}; kept by the list. */
  listIndex = -1;

  /** Creates a binding; see `bindings.ts` for how the keys are made. */
  constructor(
    ends: { source: Exchange; destination: Queue | Exchange; type: DestinationType },
    routing: { routingKey: string; args: FieldTable },
    keys: { key: string; propertiesKey: string },
  ) {
    this.source = ends.source;
    this.queue = ends.type === "queue" ? ends.destination as Queue : null;
    this.exchange = ends.type === "exchange" ? ends.destination as Exchange : null;
    this.routingKey = routing.routingKey;
    this.args = routing.args;
    this.key = keys.key;
    this.propertiesKey = keys.propertiesKey;
  }

  /** Name of the queue or exchange it leads to. */
  get destination(): string {
    return this.queue !== null ? this.queue.name : this.exchange!.name;
  }

  /** What it leads to. */
  get destinationType(): DestinationType {
    return this.queue !== null ? "queue" : "exchange";
  }

  /** Whether it outlives a restart: both of its ends do. */
  get durable(): boolean {
    return this.source.durable && (this.queue ?? this.exchange!).durable;
  }
}

/** Bindings in no particular order; adding and removing cost the same at any size. */
export class BindingList {
  /** The bindings, to be read only. */
  readonly items: Binding[] = [];

  /** Adds a binding that is in no list yet. */
  add(binding: Binding): void {
    assert(binding.listIndex === -1, "binding added to a second list");
    binding.listIndex = this.items.length;
    this.items.push(binding);
  }

  /** Removes a binding of this list. */
  remove(binding: Binding): void {
    assert(this.items[binding.listIndex] === binding, "binding removed from a foreign list");
    const last = this.items.pop()!;
    if (last !== binding) {
      this.items[binding.listIndex] = last;
      last.listIndex = binding.listIndex;
    }
    binding.listIndex = -1;
  }

  /** Whether nothing is left. */
  get isEmpty(): boolean {
    return this.items.length === 0;
  }
}
