// The shipped module with a hook at each of its loads and stores: what a call costs is counted, not
// timed, and where it writes is seen.

import binaryen from "assemblyscript/binaryen";
import { Buffer } from "node:buffer";
import { coreWasmBase64 } from "../../../core-wasm/core_wasm_gen.ts";
import type { CoreExports } from "../../../core-wasm/instance.ts";

/** A core whose memory accesses are counted. */
export interface CountedCore {
  readonly core: CoreExports;
  /** Loads and stores since the last `reset`, and the lowest and highest address written. */
  readonly counts: { loads: number; stores: number; writtenFrom: number; writtenTo: number };
  reset(): void;
}

let module: WebAssembly.Module | undefined;

function instrument(): WebAssembly.Module {
  const parsed = binaryen.readBinary(new Uint8Array(Buffer.from(coreWasmBase64, "base64")));
  parsed.runPasses(["instrument-memory"]);
  const bytes = parsed.emitBinary();
  parsed.dispose();
  return new WebAssembly.Module(new Uint8Array(bytes));
}

/** A fresh instance. */
export function countedCore(): CountedCore {
  module ??= instrument();
  const counts = { loads: 0, stores: 0, writtenFrom: Infinity, writtenTo: 0 };
  const same = <T>(_site: number, value: T): T => value;
  const env: Record<string, WebAssembly.ImportValue> = {
    load_ptr: (_site: number, _bytes: number, _offset: number, address: number) => {
      counts.loads++;
      return address;
    },
    store_ptr: (_site: number, bytes: number, offset: number, address: number) => {
      counts.stores++;
      const at = (address >>> 0) + offset;
      counts.writtenFrom = Math.min(counts.writtenFrom, at);
      counts.writtenTo = Math.max(counts.writtenTo, at + bytes);
      return address;
    },
    memory_grow_pre: same,
    memory_grow_post: same,
  };
  for (const type of ["i32", "i64", "f32", "f64"]) {
    env[`load_val_${type}`] = same;
    env[`store_val_${type}`] = same;
  }
  const core = new WebAssembly.Instance(module, { env }).exports as unknown as CoreExports;
  const reset = () => {
    Object.assign(counts, { loads: 0, stores: 0, writtenFrom: Infinity, writtenTo: 0 });
  };
  return { core, counts, reset };
}
