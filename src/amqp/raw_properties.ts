// Lazy access to a message's properties in wire form: a reusable cursor over one range of bytes. It
// finds single values by walking the flags, allocates nothing, and never changes the bytes. Used
// once per publish and per delivery. rewrite_properties.ts changes several values.

import { EMPTY_BYTES } from "../lib/bytes.ts";
import { decodeText } from "../lib/text.ts";
import { syntaxError } from "./errors.ts";
import { decodeFieldTable, decodeFieldValue, FIELD_TABLE_LIMITS } from "./field_table.ts";
import type { FieldTable, FieldValue } from "./field_value.ts";
import {
  DELIVERY_MODE_PERSISTENT,
  PROPERTY_DELIVERY_MODE,
  PROPERTY_HEADERS,
  PROPERTY_PRIORITY,
  PROPERTY_TIMESTAMP,
  readPropertyFlags,
  skipProperty,
} from "./properties.ts";
import { checkTable, findEntry, skipFieldValue } from "./raw_table.ts";

/** A view of the raw properties of one message. Make one and `set` it for every message. */
export class RawProperties {
  /** The bytes that hold the properties. */
  bytes: Uint8Array = EMPTY_BYTES;
  /** Where the properties begin: at the flag word. */
  start = 0;
  /** Where the properties end. */
  end = 0;
  /** The flag word. */
  flags = 0;
  /**
   * Where the value found last begins: a short string or table after its length, a field at its
   * tag.
   */
  valueStart = 0;
  /** Where the value found last ends. */
  valueEnd = 0;

  /** Sets the view to `bytes[start, end)`. */
  set(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.flags = readPropertyFlags(bytes, start, end);
    this.valueStart = this.valueEnd = start;
  }

  /** Whether the message has the property. */
  has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }

  /**
   * Checks that all values add up to exactly these bytes and that headers decode within `depthMax`
   * levels; else 502. Properties that pass can be handed to consumers as they are.
   */
  check(depthMax: number = FIELD_TABLE_LIMITS.depthMax): void {
    const { bytes, end } = this;
    let at = this.start + 2;
    for (let rest = this.flags; rest !== 0;) {
      const flag = highestFlag(rest);
      const next = skipProperty(bytes, at, end, flag);
      if (flag === PROPERTY_HEADERS) checkTable(bytes, at + 4, next, depthMax);
      rest ^= flag;
      at = next;
    }
    if (at !== end) throw syntaxError("content properties have surplus bytes");
  }

  /** Returns where the value of `flag` stands, with its length prefix, or where it would stand. */
  offsetOf(flag: number): number {
    const { bytes, end } = this;
    let at = this.start + 2;
    // Only the values of the flags above this one come before it.
    for (let rest = this.flags & ~(2 * flag - 1); rest !== 0;) {
      const other = highestFlag(rest);
      at = skipProperty(bytes, at, end, other);
      rest ^= other;
    }
    return at;
  }

  /**
   * Finds a property and sets `valueStart` and `valueEnd`; false if the message does not have it.
   */
  find(flag: number): boolean {
    if ((this.flags & flag) === 0) return false;
    const at = this.offsetOf(flag);
    this.valueEnd = skipProperty(this.bytes, at, this.end, flag);
    this.valueStart = at + lengthPrefixBytes(flag);
    return true;
  }

  /** Finds a header by a key of `tableKey`. Then its value, tag first, is at `valueStart`. */
  findHeader(key: Uint8Array): boolean {
    if ((this.flags & PROPERTY_HEADERS) === 0 || !this.find(PROPERTY_HEADERS)) return false;
    const entry = findEntry(this.bytes, this.valueStart, this.valueEnd, key);
    if (entry < 0) return false;
    this.valueStart = entry + key.length;
    this.valueEnd = skipFieldValue(this.bytes, this.valueStart, this.valueEnd);
    return true;
  }

  /** Whether delivery-mode says persistent. */
  isPersistent(): boolean {
    return this.find(PROPERTY_DELIVERY_MODE) &&
      this.bytes[this.valueStart] === DELIVERY_MODE_PERSISTENT;
  }

  /** Returns the priority, 0 if there is none. */
  priority(): number {
    return this.find(PROPERTY_PRIORITY) ? this.bytes[this.valueStart]! : 0;
  }

  /** Returns the text of a short-string property, or `undefined`. It allocates. */
  text(flag: number): string | undefined {
    return this.find(flag) ? decodeText(this.bytes, this.valueStart, this.valueEnd) : undefined;
  }

  /** Returns one header decoded, or `undefined`. It allocates. */
  header(key: Uint8Array): FieldValue | undefined {
    if (!this.findHeader(key)) return undefined;
    return decodeFieldValue(this.bytes, this.valueStart, this.valueEnd);
  }

  /** Returns all headers decoded, or `undefined` if the message has none. It allocates. */
  headers(): FieldTable | undefined {
    if (!this.find(PROPERTY_HEADERS)) return undefined;
    return decodeFieldTable(this.bytes, this.valueStart, this.valueEnd);
  }
}

function highestFlag(flags: number): number {
  return 1 << (31 - Math.clz32(flags));
}

function lengthPrefixBytes(flag: number): number {
  if (flag === PROPERTY_HEADERS) return 4;
  const isFixed = flag === PROPERTY_DELIVERY_MODE || flag === PROPERTY_PRIORITY ||
    flag === PROPERTY_TIMESTAMP;
  return isFixed ? 0 : 1;
}
