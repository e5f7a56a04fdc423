// Linear memory: everything that grows is cut from its end, and chunks that come back are kept in a
// list for the next user. Called by the tables and buckets; it knows nothing of timers.

import { GROWING_AT } from "./constants";

export const CHUNK_BYTES: u32 = 256;
const WASM_PAGE_BYTES: u64 = 65536;
const PAGE_COUNT_MAX: u32 = 65535; // one less than 4 GiB, so that an end address fits 32 bits

let end: u32 = GROWING_AT;
let pagesMax: u32 = PAGE_COUNT_MAX;
let freeChunk: u32 = 0;
let freeChunks: u32 = 0;

// A fraction of the size at a time: growing by one page would cross into the host 150 times per
// megabyte-sized step of a large heap, doubling would waste half the memory.
function grow(pages: u32): bool {
  const size = <u32>memory.size();
  const room = pagesMax > size ? pagesMax - size : 0;
  if (pages > room) return false;
  const more = size >> 5;
  if (more > pages && more <= room && memory.grow(more) >= 0) return true;
  return memory.grow(pages) >= 0;
}

// Address of fresh zeroed bytes, or 0 when there is no memory for them.
export function allocate(bytes: u32): u32 {
  const size: u64 = <u64>memory.size() * WASM_PAGE_BYTES;
  const newEnd: u64 = <u64>end + <u64>bytes;
  if (newEnd > size) {
    const pages = <u32>((newEnd - size + WASM_PAGE_BYTES - 1) / WASM_PAGE_BYTES);
    if (!grow(pages)) return 0;
  }
  const at = end;
  end = <u32>newEnd;
  return at;
}

@inline
export function haveChunks(count: u32): bool {
  return freeChunks >= count;
}

// True when at least `count` chunks can be taken without growing.
export function reserveChunks(count: u32): bool {
  while (freeChunks < count) {
    const chunk = allocate(CHUNK_BYTES);
    if (chunk == 0) return false;
    releaseChunk(chunk);
  }
  return true;
}

// Only after `reserveChunks`; the first eight bytes are zeroed, the rest is what it was.
@inline
export function takeChunk(): u32 {
  const chunk = freeChunk;
  freeChunk = load<u32>(chunk);
  freeChunks--;
  store<u64>(chunk, 0);
  return chunk;
}

@inline
export function releaseChunk(chunk: u32): void {
  store<u32>(chunk, freeChunk);
  freeChunk = chunk;
  freeChunks++;
}

// Bytes in use: all but free chunks and what lies behind the end.
export function liveBytes(): f64 {
  return <f64>end - <f64>freeChunks * <f64>CHUNK_BYTES;
}

export function limitBytes(bytes: f64): void {
  const pages = Math.floor(bytes / <f64>WASM_PAGE_BYTES);
  pagesMax = pages >= <f64>PAGE_COUNT_MAX ? PAGE_COUNT_MAX : pages > 0 ? <u32>pages : 0;
}
