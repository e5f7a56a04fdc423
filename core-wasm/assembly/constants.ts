// Numbers that the whole core agrees on: limits, failure codes and the shape of the memory. The ABI
// page (core-wasm/README.md) repeats those that hosts see; a change there is a new ABI version.

export const ABI_VERSION: u32 = 1;

export const DELAY_MS_MAX: u64 = 0xffff_ffff;
export const INTEGER_MAX: u64 = 0x1f_ffff_ffff_ffff; // 2^53 - 1

export const ERR_OUT_OF_MEMORY: i32 = -1;
export const ERR_UNKNOWN_GROUP: i32 = -2;
export const ERR_BAD_DUE_TIME: i32 = -3;
export const ERR_STALE_HANDLE: i32 = -4;
export const ERR_LIMIT_REACHED: i32 = -5;
export const ERR_BAD_ARGUMENT: i32 = -6;
export const ERR_CHANGED: i32 = -7;
export const ERR_SCAN_NEEDED: i32 = -8;

// Most entries that one call may touch, besides those it hands out: 4096 take about 50 microseconds.
export const WORK_MAX: i32 = 4096;

// Linear memory. Address 0 is never an object, so 0 says "none" everywhere.
//
//        0  unused
//     1024  transfer area        512 entries of 32 bytes, read and written by the host
//    17408  buckets              7 levels x 256 x (head, tail)
//    31744  occupied             7 levels x 256 bits
//    31968  late tables          64 addresses of 4 KiB tables of 8 KiB pages
//    32768  timer page table     4096 addresses of 64 KiB pages
//    49152  group page table     1024 addresses of 8 KiB pages
//    53248  grows: timer pages, group pages, chunks, in the order of need; nothing is ever moved
export const AREA_AT: u32 = 1024;
export const AREA_CAPACITY: u32 = 512;
export const BUCKETS_AT: u32 = 17408;
export const OCCUPIED_AT: u32 = 31744;
export const LATE_TABLES_AT: u32 = 31968;
export const TIMER_PAGES_AT: u32 = 32768;
export const GROUP_PAGES_AT: u32 = 49152;
export const GROWING_AT: u32 = 53248;

// An entry of the transfer area.
export const AREA_ENTRY_BYTES: u32 = 32;
export const AREA_PAYLOAD: usize = 0; // u32
export const AREA_GROUP: usize = 4; // u32
export const AREA_DUE: usize = 8; // f64
export const AREA_HANDLE: usize = 16; // f64
export const AREA_ORDER: usize = 24; // f64, snapshots only

export const TIMER_INDEX_BITS: u32 = 25;
export const TIMER_COUNT_MAX: u32 = (1 << 25) - 1;
export const GROUP_INDEX_BITS: u32 = 18;
export const GROUP_INDEX_MASK: u32 = (1 << 18) - 1;
export const GROUP_COUNT_MAX: u32 = (1 << 17) - 1;

export const LEVEL_COUNT: u32 = 7;
