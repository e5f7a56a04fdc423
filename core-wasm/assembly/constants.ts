// Numbers that the whole core agrees on: limits, failure codes and the shape of the memory. The ABI
// page (core-wasm/README.md) repeats those that hosts see; a change there is a new ABI version.

export const ABI_VERSION: u32 = 1;

export const DELAY_MS_MAX: u64 = 0xffff_ffff;
export const INTEGER_MAX: u64 = 0x1f_ffff_ffff_ffff; // 2^53 - 1
