// Makes instances of the core from the inlined bytes: synchronously, so that importing the package
// needs no await on any runtime. Called by the bindings beside it; it never touches the exports.

import { coreWasmBase64 } from "./core_wasm_gen.ts";

/** The functions of `reprise_core.wasm`; core-wasm/README.md says what each takes and gives. */
export interface CoreExports {
  readonly memory: WebAssembly.Memory;
  abi_version(): number;
  delay(minMs: number, multiplier: number, maxMs: number, attempt: number): number;
  jitter(delayMs: number, percent: number, random: number): number;
}

/** The `abi_version` these bindings were written for. */
export const abiVersion = 1;

let compiled: WebAssembly.Module | undefined;

function compile(): WebAssembly.Module {
  const text = atob(coreWasmBase64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return new WebAssembly.Module(bytes);
}

/** A fresh instance with its own linear memory; the module is compiled once per program. */
export function instantiateCore(): CoreExports {
  compiled ??= compile();
  const core = new WebAssembly.Instance(compiled).exports as unknown as CoreExports;
  const found = core.abi_version();
  if (found !== abiVersion) throw new Error(`core abi_version is ${found}, expected ${abiVersion}`);
  return core;
}
