// The backoff formulas of the scheduling core, as the broker uses them. They are in core-wasm so
// that other runtimes compute the same delays. Nothing is calculated here.

export { backoff } from "../../core-wasm/mod.ts";
