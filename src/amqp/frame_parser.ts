// Cuts a connection's input into frames, wherever the transport split it. A frame that lies whole in
// one chunk is shown in place; one that spans chunks is assembled in `carry`, which grows with the
// bytes that really came, never with the announced size. The session drives it:
//
//   parser.push(chunk, 0, chunk.length);
//   while (parser.next()) {
//     handle(parser.type, parser.channel, parser.buffer, parser.payloadStart, parser.payloadEnd);
//     if (budgetIsSpent) break; // go on with next() in a later turn
//   }
//
// The frame shown is valid until the next call. Once next() has returned false the chunk belongs to
// the caller again. An error leaves the parser useless: the connection must stop reading.

import { copyBytes, dropBytes, EMPTY_BYTES, readU16, readU32 } from "../lib/bytes.ts";
import {
  badFrameEnd,
  FRAME_END,
  FRAME_HEADER_BYTES,
  FRAME_MAX_DEFAULT,
  FRAME_OVERHEAD,
  frameTooLarge,
  isFrameType,
  payloadSnippet,
  unknownFrame,
} from "./frame.ts";

const CARRY_BYTES_MIN = 512;
// Large carries are reused: a connection that is sent large bodies needs one for every chunk, and
// an idle one owns none. One spare is enough, because nearly all are given back in the turn in
// which they were taken.
const SPARE_BYTES_MIN = 16_384;
const SPARE_BYTES_MAX = 262_144;
let spare: Uint8Array = EMPTY_BYTES;

function takeCarry(byteCount: number): Uint8Array {
  if (byteCount > spare.length || byteCount < SPARE_BYTES_MIN) return new Uint8Array(byteCount);
  const taken = spare;
  spare = EMPTY_BYTES;
  return taken;
}

function giveCarry(carry: Uint8Array): void {
  if (carry.length < SPARE_BYTES_MIN) return;
  const isBetter = carry.length > spare.length && carry.length <= SPARE_BYTES_MAX;
  dropBytes(isBetter ? spare : carry);
  if (isBetter) spare = carry;
}

/** An incremental frame parser; one per connection. */
export class FrameParser {
  /** Type of the frame shown. */
  type = 0;
  /** Channel of the frame shown. */
  channel = 0;
  /** The buffer that holds the frame shown. */
  buffer: Uint8Array = EMPTY_BYTES;
  /** Where the payload of the frame shown begins in `buffer`. */
  payloadStart = 0;
  /** Where the payload of the frame shown ends in `buffer`. */
  payloadEnd = 0;
  /**
   * The negotiated frame_max, bytes. Payloads up to it are accepted, as in RabbitMQ, because some
   * clients are off by 8.
   */
  frameMax: number = FRAME_MAX_DEFAULT;

  #chunk: Uint8Array = EMPTY_BYTES;
  #at = 0;
  #end = 0;
  #isChunkOwned = false;
  #carry: Uint8Array = EMPTY_BYTES;
  #carryCount = 0;

  /** Adds `chunk[start, end)` to the input. Bytes of earlier chunks come first. */
  push(chunk: Uint8Array, start: number, end: number): void {
    if (this.#at < this.#end) {
      this.#append(chunk, start, end);
      return;
    }
    this.#chunk = chunk;
    this.#at = start;
    this.#end = end;
    this.#isChunkOwned = false;
  }

  /** Moves to the next complete frame. Returns false if more bytes are needed. */
  next(): boolean {
    if (this.#carryCount > 0) return this.#nextFromCarry();
    const at = this.#at;
    const available = this.#end - at;
    if (available < FRAME_HEADER_BYTES) return this.#carryRest();
    const byteCount = this.#readHeader(this.#chunk, at);
    if (available < byteCount) return this.#carryRest();
    this.#show(this.#chunk, at, at + byteCount);
    this.#at = at + byteCount;
    return true;
  }

  /** Bytes of the frame shown, envelope included. */
  get frameByteCount(): number {
    return this.payloadEnd - this.payloadStart + FRAME_OVERHEAD;
  }

  /** Bytes of input that no frame has shown yet. */
  get pendingByteCount(): number {
    return this.#carryCount + this.#end - this.#at;
  }

  /** Bytes of the parser's own storage, for the accounting of memory per connection. */
  get storageByteCount(): number {
    return this.#carry.length + (this.#isChunkOwned ? this.#chunk.length : 0);
  }

  /**
   * Gives back storage that an idle connection does not need. Call it now and then, when the frame
   * shown last is not used any more.
   */
  trim(): void {
    if (this.#carryCount === 0) {
      giveCarry(this.#carry);
      this.#carry = EMPTY_BYTES;
    }
    if (this.#at < this.#end) return;
    this.#chunk = this.buffer = EMPTY_BYTES;
    this.#at =
      this.#end =
      this.payloadStart =
      this.payloadEnd =
        0;
  }

  // Copies both chunks into the parser's own storage, doubled as needed, when a second chunk comes
  // while the first is unread.
  #append(chunk: Uint8Array, start: number, end: number): void {
    const unread = this.#end - this.#at;
    const needed = unread + end - start;
    if (!this.#isChunkOwned || this.#end + end - start > this.#chunk.length) {
      const joined = new Uint8Array(needed * 2);
      joined.set(this.#chunk.subarray(this.#at, this.#end));
      this.#chunk = joined;
      this.#at = 0;
      this.#end = unread;
      this.#isChunkOwned = true;
    }
    this.#chunk.set(chunk.subarray(start, end), this.#end);
    this.#end += end - start;
  }

  // Checks the seven bytes at `at` and returns the bytes of the whole frame.
  #readHeader(bytes: Uint8Array, at: number): number {
    const type = bytes[at]!;
    const payloadByteCount = readU32(bytes, at + 3);
    if (!isFrameType(type)) throw unknownFrame(type);
    if (payloadByteCount > this.frameMax) {
      throw frameTooLarge(type, payloadByteCount, this.frameMax);
    }
    return payloadByteCount + FRAME_OVERHEAD;
  }

  #show(bytes: Uint8Array, start: number, end: number): void {
    this.type = bytes[start]!;
    this.channel = readU16(bytes, start + 1);
    this.buffer = bytes;
    this.payloadStart = start + FRAME_HEADER_BYTES;
    this.payloadEnd = end - 1;
    if (bytes[end - 1] !== FRAME_END) {
      const snippet = payloadSnippet(bytes, this.payloadStart, this.payloadEnd);
      throw badFrameEnd(this.type, snippet, bytes[end - 1]!);
    }
  }

  #carryRest(): boolean {
    this.#moveToCarry(this.#end - this.#at);
    // The chunk goes back to the caller. Not even the frame shown last may keep it alive.
    this.#chunk = this.buffer = EMPTY_BYTES;
    this.#at =
      this.#end =
      this.payloadStart =
      this.payloadEnd =
        0;
    return false;
  }

  #moveToCarry(byteCount: number): void {
    const needed = this.#carryCount + byteCount;
    if (needed > this.#carry.length) {
      const grown = takeCarry(Math.max(needed, this.#carry.length * 2, CARRY_BYTES_MIN));
      grown.set(this.#carry.subarray(0, this.#carryCount));
      giveCarry(this.#carry);
      this.#carry = grown;
    }
    copyBytes(this.#carry, this.#carryCount, this.#chunk, this.#at, this.#at + byteCount);
    this.#carryCount = needed;
    this.#at += byteCount;
  }

  #nextFromCarry(): boolean {
    const missing = FRAME_HEADER_BYTES - this.#carryCount;
    if (missing > 0) {
      const available = this.#end - this.#at;
      if (available < missing) return this.#carryRest();
      this.#moveToCarry(missing);
    }
    const byteCount = this.#readHeader(this.#carry, 0);
    const rest = byteCount - this.#carryCount;
    if (this.#end - this.#at < rest) return this.#carryRest();
    this.#moveToCarry(rest);
    this.#carryCount = 0;
    this.#show(this.#carry, 0, byteCount);
    return true;
  }
}
