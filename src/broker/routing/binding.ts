// A binding, and the unordered lists of bindings that exchanges route by. Bindings (bindings.ts)
// makes and destroys them. An exchange type keeps each binding in exactly one list, so that removing
// one binding costs the same among a million as alone.

import { assert } from "../../lib/assert.ts";
import type { FieldTable } from "../../amqp/field_value.ts";
import type { Exchange } from "./exchange.ts";
import type { Queue } from "../queue/queue.ts";
import type { DestinationType } from "../names.ts";

/** One binding from an exchange to a queue or to another exchange. */
export class Binding {
  /** The exchange that the binding starts from. */
  readonly source: Exchange;
  /** The destination queue; null if the destination is an exchange. */
  readonly queue: Queue | null;
  /** The destination exchange; null if the destination is a queue. */
  readonly exchange: Exchange | null;
  /** The routing key or pattern. */
  readonly routingKey: string;
  /** The arguments as the client gave them. */
  readonly args: FieldTable;
  /** Distinguishes this binding from all others of its source. */
  readonly key: string;
  /** Distinguishes this binding from others between the same two ends; the management API shows it. */
  readonly propertiesKey: string;
  /** Number of the batch that holds its definition; 0 if no batch of this run does. */
  definedBatch = 0;
  /** Index in its {@link BindingList}, which sets it; -1 while it is in none. */
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

  /** Name of the destination queue or exchange. */
  get destination(): string {
    return this.queue !== null ? this.queue.name : this.exchange!.name;
  }

  /** Whether the destination is a queue or an exchange. */
  get destinationType(): DestinationType {
    return this.queue !== null ? "queue" : "exchange";
  }

  /** Whether the binding survives a restart, which it does if both of its ends do. */
  get durable(): boolean {
    return this.source.durable && (this.queue ?? this.exchange!).durable;
  }
}

/** Bindings in no particular order. Adding and removing cost the same at any size. */
export class BindingList {
  /** The bindings; read only for callers. */
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

  /** Whether the list is empty. */
  get isEmpty(): boolean {
    return this.items.length === 0;
  }
}
