// The fixed part of a content header frame's payload, read into a record that the channel reuses.
// The session calls it for every publish. It never looks into the properties (raw_properties.ts).
//
//   0          2          4              12
//   +----------+----------+--------------+------------------------+
//   | class 60 | weight 0 | body size 64 | properties (flags, …)  |
//   +----------+----------+--------------+------------------------+

import { readU16, readU64 } from "../lib/bytes.ts";
import { syntaxError } from "./errors.ts";

/** Bytes of a content header's payload before the properties. */
export const CONTENT_HEADER_FIXED_BYTES = 12;

/** A content header whose properties stay raw. */
export class ContentHeader {
  /** The class of the content; 60 is the only one. */
  classId = 0;
  /** Announced size of the body in bytes. It is rounded beyond 2^53, where it is refused anyway. */
  bodyByteCount = 0;
  /** Where the raw properties begin, at their flag word. */
  propertiesStart = 0;
  /** Where the raw properties end. */
  propertiesEnd = 0;

  /** Reads the payload `bytes[start, end)` of a content header frame. Properties are not checked. */
  read(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < CONTENT_HEADER_FIXED_BYTES + 2) {
      throw syntaxError("content header is truncated");
    }
    this.classId = readU16(bytes, start);
    this.bodyByteCount = readU64(bytes, start + 4);
    this.propertiesStart = start + CONTENT_HEADER_FIXED_BYTES;
    this.propertiesEnd = end;
  }
}
