// The two names of a binding: its identity among all bindings of its source, and the `properties_key`
// that RabbitMQ's management API uses to tell bindings between the same two ends apart. Only Bindings
// uses them; neither text is ever parsed.

import type { FieldTable } from "../../amqp/field_value.ts";
import { hashBytes } from "../../lib/bytes.ts";
import { encodeText } from "../../lib/text.ts";
import { canonicalTable } from "../arguments/canonical.ts";
import type { DestinationType } from "../names.ts";

/** The properties that distinguish two bindings of one source. */
export interface BindingIdentity {
  readonly destination: string;
  readonly destinationType: DestinationType;
  readonly routingKey: string;
  readonly args: FieldTable;
}

/**
 * Returns the identity as one text. It includes the lengths of the names, so no two bindings share
 * it.
 */
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

// Form encoding that also escapes "~", because "~" separates the key from the hash.
function quote(text: string): string {
  let quoted = "";
  for (const byte of encodeText(text)) {
    if (isUnreserved(byte)) quoted += String.fromCharCode(byte);
    else if (byte === 0x20) quoted += "+";
    else quoted += "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }
  return quoted;
}

// Two chained FNV-1a hashes: 64 bits are enough for the bindings between one pair of ends.
function argumentsHash(args: FieldTable): string {
  const bytes = encodeText(canonicalTable(args));
  const first = hashBytes(bytes, 0, bytes.length);
  const second = hashBytes(bytes, 0, bytes.length, first);
  return first.toString(16).padStart(8, "0") + second.toString(16).padStart(8, "0");
}

/**
 * The `properties_key`: `~` for an empty key, the quoted key, or the quoted key, `~` and a hash of
 * the arguments.
 */
export function propertiesKey(routingKey: string, args: FieldTable): string {
  if (args.size > 0) return `${quote(routingKey)}~${argumentsHash(args)}`;
  return routingKey === "" ? "~" : quote(routingKey);
}
