// Makes instances of the core from the inlined bytes: synchronously, so that importing the package
// needs no await on any runtime. Called by the bindings beside it; it never touches the exports.

import { coreWasmBase64 } from "./core_wasm_gen.ts";

/** The functions of `reprise_core.wasm`; core-wasm/README.md says what each takes and gives. */
export interface CoreExports {
  readonly memory: WebAssembly.Memory;
  abi_version(): number;
  delay(
    minMs: number,
    multiplier: number,
    maxMs: number,
    attempt: number,
  ): number;
  jitter(delayMs: number, percent: number, random: number): number;
  area_at(): number;
  area_capacity(): number;
  memory_limit(bytes: number): void;
  memory_live(): number;
  group_open(): number;
  group_close(group: number): number;
  group_clear(group: number): number;
  group_count(group: number): number;
  group_first_due(group: number): number;
  group_last_due(group: number): number;
  bounds_refresh(): void;
  insert(group: number, dueMs: number, payload: number): number;
  insert_many(count: number): number;
  cancel(handle: number): number;
  pop_due(nowMs: number, max: number): number;
  next_due(): number;
  count(): number;
  snapshot_begin(group: number): number;
  snapshot_next(max: number): number;
  snapshot_done(): number;
  snapshot_floor(): number;
}

/** The `abi_version` these bindings were written for. */
export const abiVersion = 1;

let compiled: WebAssembly.Module | undefined;

function compile(): WebAssembly.Module {
  const text = atob(coreWasmBase64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    bytes[index] = text.charCodeAt(index);
  }
  return new WebAssembly.Module(bytes);
}

/** A fresh instance with its own linear memory; the module is compiled once per program. */
export function instantiateCore(): CoreExports {
  compiled ??= compile();
  const core = new WebAssembly.Instance(compiled)
    .exports as unknown as CoreExports;
  const found = core.abi_version();
  if (found !== abiVersion) {
    throw new Error(`core abi_version is ${found}, expected ${abiVersion}`);
  }
  return core;
}
