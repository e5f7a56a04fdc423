// The publishes that a transaction holds back, one behind the other in a few large buffers: hundreds of
// thousands of them are no objects for the runtime to look at, neither while they wait nor when they are
// committed. Transaction adds them and gives them out once.
//
//   | address u32 | properties u32 | body u32 | mandatory u32 | address | properties | body |

import { emptySource, type MessageSource } from "../broker/publish/publisher.ts";
import { copyBytes, dropBytes, putU32, readU32 } from "../lib/bytes.ts";

const HEAD_BYTES = 16;
// The last buffer has room for more: as much as is held, and not more than this.
const CHUNK_BYTES_MIN = 256;
const CHUNK_BYTES_MAX = 65_536;

interface Chunk {
  readonly bytes: Uint8Array;
  usedBytes: number;
}

/** Told of every message, oldest first; `source` is overwritten by the next one. */
export type HeldVisitor = (source: MessageSource, mandatory: boolean) => void;

/** Messages held back, in order. */
export class HeldPublishes {
  /** Bytes of what is held. */
  heldBytes = 0;
  #chunks: Chunk[] = [];

  /** Copies a message in. */
  add(source: MessageSource, mandatory: boolean): void {
    const addressBytes = source.addressEnd - source.addressStart;
    const propertyBytes = source.propertiesEnd - source.propertiesStart;
    const bodyBytes = source.bodyEnd - source.bodyStart;
    const byteCount = HEAD_BYTES + addressBytes + propertyBytes + bodyBytes;
    const chunk = this.#chunkFor(byteCount);
    const { bytes } = chunk;
    let at = chunk.usedBytes;
    putU32(bytes, at, addressBytes);
    putU32(bytes, at + 4, propertyBytes);
    putU32(bytes, at + 8, bodyBytes);
    putU32(bytes, at + 12, mandatory ? 1 : 0);
    at += HEAD_BYTES;
    copyBytes(bytes, at, source.address, source.addressStart, source.addressEnd);
    at += addressBytes;
    copyBytes(bytes, at, source.properties, source.propertiesStart, source.propertiesEnd);
    copyBytes(bytes, at + propertyBytes, source.body, source.bodyStart, source.bodyEnd);
    chunk.usedBytes += byteCount;
    this.heldBytes += byteCount;
  }

  #chunkFor(byteCount: number): Chunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.usedBytes + byteCount <= last.bytes.length) return last;
    const usual = Math.min(CHUNK_BYTES_MAX, Math.max(CHUNK_BYTES_MIN, this.heldBytes));
    const chunk = { bytes: new Uint8Array(Math.max(usual, byteCount)), usedBytes: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Gives all of them out and forgets them. */
  takeAll(visit: HeldVisitor): void {
    const chunks = this.#chunks;
    this.clear();
    const source = emptySource();
    for (const { bytes, usedBytes } of chunks) {
      source.address = source.properties = source.body = bytes;
      for (let at = 0; at < usedBytes; at = source.bodyEnd) {
        source.addressStart = at + HEAD_BYTES;
        source.addressEnd = source.addressStart + readU32(bytes, at);
        source.propertiesStart = source.addressEnd;
        source.propertiesEnd = source.propertiesStart + readU32(bytes, at + 4);
        source.bodyStart = source.propertiesEnd;
        source.bodyEnd = source.bodyStart + readU32(bytes, at + 8);
        visit(source, readU32(bytes, at + 12) === 1);
      }
      dropBytes(bytes);
    }
  }

  /** Forgets all of them. */
  clear(): void {
    this.#chunks = [];
    this.heldBytes = 0;
  }
}
