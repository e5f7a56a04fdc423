// One piece of arena memory and the layout of the message records in it. The memory store writes
// and reads records through these functions; no other file knows the offsets. A record never
// changes after it is written, except for its holder count and, when it moves, its place.
//
//   offset  size  what (native byte order; a record starts on a multiple of 8)
//   0       4     recordBytes: the whole record, a multiple of 8
//   4       4     ref: the body reference that names this record
//   8       4     holderCount: queues that hold it, 0 = free
//   12      4     bodyBytes
//   16      8     arrivalMs
//   24      8     expiryMs (Infinity without an expiration)
//   32      4     propertiesBytes
//   36      4     addressBytes << 16 | flags << 8 | priority
//   40      …     address | properties | body | padding
//
// A stub is a header alone. It stands for a record whose parts are on a disk only.

import { copyBytes } from "../../lib/bytes.ts";
import type { MessageSource, RecordView } from "../port.ts";

const HEADER_BYTES = 40;
// The parts of the record are not in memory. This flag is never in a view.
const FLAG_STUB = 0x80;

/** A block of arena memory. Records follow each other from the start to `usedBytes`. */
export class Block {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  readonly doubles: Float64Array;
  readonly capacityBytes: number;
  /** The number under which body references find this block. */
  readonly index: number;
  usedBytes = 0;
  /** Bytes of records that still have holders. */
  liveBytes = 0;

  constructor(index: number, capacityBytes: number) {
    const buffer = new ArrayBuffer(capacityBytes);
    this.index = index;
    this.capacityBytes = capacityBytes;
    this.bytes = new Uint8Array(buffer);
    this.words = new Uint32Array(buffer);
    this.doubles = new Float64Array(buffer);
  }
}

/** Bytes the record of this message takes, padding included. */
export function recordBytesOf(message: MessageSource): number {
  const payloadBytes = message.addressEnd - message.addressStart +
    (message.propertiesEnd - message.propertiesStart) + (message.bodyEnd - message.bodyStart);
  return Math.ceil((HEADER_BYTES + payloadBytes) / 8) * 8;
}

/** Writes a record at the end of the block, which has room for it; returns its offset. */
export function writeRecord(block: Block, message: MessageSource, ref: number): number {
  const at = block.usedBytes;
  const addressBytes = message.addressEnd - message.addressStart;
  const propertiesBytes = message.propertiesEnd - message.propertiesStart;
  const bodyBytes = message.bodyEnd - message.bodyStart;
  const recordBytes = Math.ceil((HEADER_BYTES + addressBytes + propertiesBytes + bodyBytes) / 8) *
    8;
  const word = at >>> 2;
  const words = block.words;
  words[word] = recordBytes;
  words[word + 1] = ref;
  words[word + 3] = bodyBytes;
  words[word + 8] = propertiesBytes;
  words[word + 9] = (addressBytes << 16) | (message.flags << 8) | message.priority;
  const double = (at >>> 3) + 2;
  block.doubles[double] = message.arrivalMs;
  block.doubles[double + 1] = message.expiryMs;
  const bytes = block.bytes;
  const to = at + HEADER_BYTES;
  if (isInOnePiece(message)) {
    copyBytes(bytes, to, message.body, message.addressStart, message.bodyEnd);
  } else {
    copyBytes(bytes, to, message.address, message.addressStart, message.addressEnd);
    const propertiesAt = to + addressBytes;
    const { propertiesStart, propertiesEnd } = message;
    copyBytes(bytes, propertiesAt, message.properties, propertiesStart, propertiesEnd);
    copyBytes(
      bytes,
      propertiesAt + propertiesBytes,
      message.body,
      message.bodyStart,
      message.bodyEnd,
    );
  }
  block.usedBytes = at + recordBytes;
  block.liveBytes += recordBytes;
  return at;
}

// True for messages that were read from a disk: their parts adjoin, so one copy is enough.
function isInOnePiece(message: MessageSource): boolean {
  return message.address === message.body && message.properties === message.body &&
    message.addressEnd === message.propertiesStart && message.propertiesEnd === message.bodyStart;
}

/** Points `view` at the record at `at`. */
export function viewRecord(block: Block, at: number, view: RecordView): void {
  const word = at >>> 2;
  const words = block.words;
  const meta = words[word + 9]!;
  const addressStart = at + HEADER_BYTES;
  const propertiesStart = addressStart + (meta >>> 16);
  const bodyStart = propertiesStart + words[word + 8]!;
  view.bytes = block.bytes;
  view.addressStart = addressStart;
  view.addressEnd = propertiesStart;
  view.propertiesStart = propertiesStart;
  view.propertiesEnd = bodyStart;
  view.bodyStart = bodyStart;
  view.bodyEnd = bodyStart + words[word + 3]!;
  view.flags = (meta >>> 8) & 0x7f;
  view.priority = meta & 0xff;
  const double = (at >>> 3) + 2;
  view.arrivalMs = block.doubles[double]!;
  view.expiryMs = block.doubles[double + 1]!;
}

/** The facts that a stub keeps about its record. */
export interface StubMeta {
  flags: number;
  priority: number;
  bodyBytes: number;
  arrivalMs: number;
  expiryMs: number;
}

/** Bytes a stub takes. */
export const STUB_BYTES: number = HEADER_BYTES;

/** Writes a stub at the end of the block, which has room for it; returns its offset. */
export function writeStub(block: Block, meta: StubMeta, ref: number): number {
  const at = block.usedBytes;
  const word = at >>> 2;
  const { words } = block;
  words[word] = STUB_BYTES;
  words[word + 1] = ref;
  words[word + 3] = meta.bodyBytes;
  words[word + 8] = 0;
  words[word + 9] = ((meta.flags | FLAG_STUB) << 8) | meta.priority;
  const double = (at >>> 3) + 2;
  block.doubles[double] = meta.arrivalMs;
  block.doubles[double + 1] = meta.expiryMs;
  block.usedBytes = at + STUB_BYTES;
  block.liveBytes += STUB_BYTES;
  return at;
}

/** Whether the record at `at` is a stub. */
export function isStubAt(block: Block, at: number): boolean {
  return (block.words[(at >>> 2) + 9]! & (FLAG_STUB << 8)) !== 0;
}

/** Whole size of the record at `at`. */
export function recordBytesAt(block: Block, at: number): number {
  return block.words[at >>> 2]!;
}

/** Body reference of the record at `at`. */
export function recordRefAt(block: Block, at: number): number {
  return block.words[(at >>> 2) + 1]!;
}

/** Holder count of the record at `at`. */
export function holderCountAt(block: Block, at: number): number {
  return block.words[(at >>> 2) + 2]!;
}

/** Sets the holder count of the record at `at`. */
export function setHolderCountAt(block: Block, at: number, holderCount: number): void {
  block.words[(at >>> 2) + 2] = holderCount;
}

/** Copies the record at `at` to the end of `target`, which has room for it; returns its offset. */
export function moveRecord(block: Block, at: number, target: Block): number {
  const recordBytes = recordBytesAt(block, at);
  const to = target.usedBytes;
  copyBytes(target.bytes, to, block.bytes, at, at + recordBytes);
  target.usedBytes = to + recordBytes;
  target.liveBytes += recordBytes;
  block.liveBytes -= recordBytes;
  return to;
}
