// The two names of a binding: its identity among all bindings of its source, and the `properties_key`
// by which RabbitMQ's management API tells bindings between the same two ends apart. Used by
// Bindings only; neither text is ever parsed.

import type { FieldTable } from "../amqp/field_value.ts";
import { hashBytes } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";
import { canonicalTable } from "./arguments/canonical.ts";
import type { DestinationType } from "./binding.ts";

/** What tells two bindings of one source apart. */
export interface BindingIdentity {
  readonly destination: string;
  readonly destinationType: DestinationType;
  readonly routingKey: string;
  readonly args: FieldTable;
}

/** The identity as one text; lengths make it unambiguous whatever the names hold. */
export function bindingKey(binding: BindingIdentity): string {
  const { destination, destinationType, routingKey, args } = binding;
  const kind = destinationType === "queue" ? "q" : "e";
  return `${kind}${destination.length}:${destination}${routingKey.length}:${routingKey}` +
    canonicalTable(args);
}

function isUnreserved(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
  return isDigit || isLetter || byte === 0x2d || byte === 0x2e || byte === 0x5f;
}

// Form encoding with "~" escaped too: it separates key and hash.
function quote(text: string): string {
  let quoted = "";
  for (const byte of encodeText(text)) {
    if (isUnreserved(byte)) quoted += String.fromCharCode(byte);
    else if (byte === 0x20) quoted += "+";
    else quoted += "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }
  return quoted;
}

// Two chained FNV-1a runs: 64 bits are plenty among the bindings of one pair.
function argumentsHash(args: FieldTable): string {
  const bytes = encodeText(canonicalTable(args));
  const first = hashBytes(bytes, 0, bytes.length);
  const second = hashBytes(bytes, 0, bytes.length, first);
  return first.toString(16).padStart(8, "0") + second.toString(16).padStart(8, "0");
}

/** The `properties_key`: `~` for an empty key, the quoted key, or key, `~` and a hash of arguments. */
export function propertiesKey(routingKey: string, args: FieldTable): string {
  if (args.size > 0) return `${quote(routingKey)}~${argumentsHash(args)}`;
  return routingKey === "" ? "~" : quote(routingKey);
}
