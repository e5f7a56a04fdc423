// Lazy access to a message's properties in wire form. A reusable cursor over one range of bytes: it
// finds single values by walking the flags, allocates nothing, and never changes the bytes. Used per
// publish and per delivery; where several values are to change see rewrite_properties.ts.

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

/** A view of the raw properties of one message; make one and `set` it for every message. */
export class RawProperties {
  /** Where the properties lie. */
  bytes: Uint8Array = EMPTY_BYTES;
  /** Where they begin: at the flag word. */
  start = 0;
  /** Where they end. */
  end = 0;
  /** The flag word. */
  flags = 0;
  /** Where the value found last begins: short strings and tables after their length, fields at their tag. */
  valueStart = 0;
  /** Where the value found last ends. */
  valueEnd = 0;

  /** Looks at `bytes[start, end)` from now on. */
  set(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.flags = readPropertyFlags(bytes, start, end);
    this.valueStart = this.valueEnd = start;
  }

  /** Whether a property is there. */
  has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }

  /**
   * Checks that all values add up to exactly these bytes and that headers decode within `depthMax`
   * levels; else 502. What passes can be handed to consumers as it is.
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

  /** Where the value of `flag` stands, or would stand if it were there; length prefix included. */
  offsetOf(flag: number): number {
    const { bytes, end } = this;
    let at = this.start + 2;
    // Only the flags above this one: their values come before.
    for (let rest = this.flags & ~(2 * flag - 1); rest !== 0;) {
      const other = highestFlag(rest);
      at = skipProperty(bytes, at, end, other);
      rest ^= other;
    }
    return at;
  }

  /** Finds a property and sets `valueStart` and `valueEnd`; false if it is not there. */
  find(flag: number): boolean {
    if ((this.flags & flag) === 0) return false;
    const at = this.offsetOf(flag);
    this.valueEnd = skipProperty(this.bytes, at, this.end, flag);
    this.valueStart = at + lengthPrefixBytes(flag);
    return true;
  }

  /** Finds a header by a key made with `tableKey`; its value, tag first, is then at `valueStart`. */
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

  /** The priority, 0 if there is none. */
  priority(): number {
    return this.find(PROPERTY_PRIORITY) ? this.bytes[this.valueStart]! : 0;
  }

  /** The text of a short-string property, or `undefined`; allocates. */
  text(flag: number): string | undefined {
    return this.find(flag) ? decodeText(this.bytes, this.valueStart, this.valueEnd) : undefined;
  }

  /** One header decoded, or `undefined`; allocates. */
  header(key: Uint8Array): FieldValue | undefined {
    if (!this.findHeader(key)) return undefined;
    return decodeFieldValue(this.bytes, this.valueStart, this.valueEnd);
  }

  /** All headers decoded, or `undefined` if the property is not there; allocates. */
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
