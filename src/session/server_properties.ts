// The properties of the node in connection.start, and the reading of a client's properties. Made once
// per engine. Only capabilities that exist are announced.

import { booleanField, booleanOf, textField } from "../amqp/field_value.ts";
import type { FieldTable, FieldValue } from "../amqp/field_value.ts";

/** The properties of this program that the composition root knows. */
export interface ProductInfo {
  /** Our own version. */
  readonly version: string;
  /** Runtime and its version, for debugging. */
  readonly platform: string;
  /** Name of the node, which clients show. */
  readonly clusterName: string;
}

/**
 * The RabbitMQ release whose behaviour is followed. Clients and test suites parse it and depend on it.
 */
export const FOLLOWED_RABBITMQ_VERSION = "3.13.7";

const CAPABILITIES = [
  "publisher_confirms",
  "exchange_exchange_bindings",
  "basic.nack",
  "consumer_cancel_notify",
  "connection.blocked",
  "consumer_priorities",
  "authentication_failure_close",
  "per_consumer_qos",
];

/** Returns the server-properties table. */
export function serverProperties(product: ProductInfo): FieldTable {
  const capabilities: FieldTable = new Map(CAPABILITIES.map((name) => [name, booleanField(true)]));
  return new Map<string, FieldValue>([
    ["product", textField("Reprise")],
    ["version", textField(FOLLOWED_RABBITMQ_VERSION)],
    ["reprise_version", textField(product.version)],
    ["platform", textField(product.platform)],
    ["cluster_name", textField(product.clusterName)],
    ["capabilities", { tag: "F", value: capabilities }],
  ]);
}

/** Extensions of 0-9-1 that a client understands. */
export interface ClientCapabilities {
  readonly consumerCancelNotify: boolean;
  readonly connectionBlocked: boolean;
}

/** The capabilities of a client that announces none. */
export const NO_CAPABILITIES: ClientCapabilities = {
  consumerCancelNotify: false,
  connectionBlocked: false,
};

/** Reads the capabilities from client-properties. */
export function clientCapabilities(properties: FieldTable): ClientCapabilities {
  const field = properties.get("capabilities");
  if (field?.tag !== "F") return NO_CAPABILITIES;
  const has = (name: string) => booleanOf(field.value.get(name)) === true;
  return {
    consumerCancelNotify: has("consumer_cancel_notify"),
    connectionBlocked: has("connection.blocked"),
  };
}
