// What goes wrong on a simulated disk, and when: planned errors, a planned crash, a hook at every
// operation. MemoryDisk asks before each operation; nothing here touches a file.

import type { Prng } from "../../../src/lib/prng.ts";

/** What is asked of a disk. */
export type OperationKind =
  | "open"
  | "write"
  | "sync"
  | "read"
  | "truncate"
  | "list"
  | "makeFolder"
  | "removeFolder"
  | "rename"
  | "remove"
  | "syncFolder";

/** One operation, as a hook sees it before it happens. */
export interface DiskOperation {
  readonly kind: OperationKind;
  readonly path: string;
  /** Operations before this one. */
  readonly index: number;
}

/** The process dies here: thrown by a planned crash, and by everything that uses the disk after it. */
export class CrashSignal extends Error {
  /** Creates the signal; `where` says what was being done. */
  constructor(where: string) {
    super(`crashed at ${where}`);
    this.name = "CrashSignal";
  }
}

interface PlannedError {
  readonly kind: OperationKind | undefined;
  readonly code: string;
  readonly pathPrefix: string;
  /** Operations that match and still succeed. */
  passes: number;
  /** How often it fails then. */
  times: number;
}

/** The plan of one disk. */
export class Faults {
  operationCount = 0;
  /** Called before each operation; what it throws ends the disk, as a crash does. */
  onOperation: ((operation: DiskOperation) => void) | null = null;
  /** Decides how far the operation came that a planned crash interrupts; not at all without it. */
  crashPrng: Prng | null = null;
  #crashAt = Infinity;
  #planned: PlannedError[] = [];

  /** Fails `times` operations that match, after `passes` that succeed. */
  plan(error: PlannedError): void {
    this.#planned.push({ ...error });
  }

  /** Crashes in place of the operation after `passes` more. */
  planCrash(passes: number, prng: Prng | null): void {
    this.#crashAt = this.operationCount + passes;
    this.crashPrng = prng;
  }

  /** Forgets every plan. */
  clear(): void {
    this.#planned = [];
    this.#crashAt = Infinity;
  }

  /** What befalls the next operation: the code of its error, `crash`, or nothing (null). */
  next(kind: OperationKind, path: string): string | null {
    const index = this.operationCount++;
    this.onOperation?.({ kind, path, index });
    if (index >= this.#crashAt) return "crash";
    for (const error of this.#planned) {
      if (error.kind !== undefined && error.kind !== kind) continue;
      if (!path.startsWith(error.pathPrefix)) continue;
      if (error.passes > 0) {
        error.passes--;
      } else if (error.times > 0) {
        error.times--;
        return error.code;
      }
    }
    return null;
  }
}
