// The identity of a process, which stays unique after it has ended: its id, when it started, and in
// which boot of the machine. The folder lock uses it to tell a running broker from the traces of an
// ended one, starter.ts to see whether its ancestors still run. On systems without /proc the identity
// is only the id, and the kernel is asked whether it exists.

import { readFileSync } from "node:fs";
import process from "node:process";
import { failureCode } from "./disk_attempt.ts";

/** A process that runs or has run. Properties that the system does not tell are empty. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in kernel ticks since boot, which differs when an id is used again. */
  readonly started: string;
  /** The boot in which it started. After another boot, none of its processes is left. */
  readonly boot: string;
}

/** Where the kernel shows its processes. */
export const PROC = "/proc";

// Fields of /proc/<pid>/stat, counted after the name, which ends at the last parenthesis.
const STATE_FIELD = 0;
const STARTED_FIELD = 19;

/** Returns the identity of this process. */
export function ownIdentity(proc: string = PROC): ProcessIdentity {
  return {
    ...identityOf(process.pid, proc),
    boot: textOf(`${proc}/sys/kernel/random/boot_id`)?.trim() ?? "",
  };
}

/** Returns the identity of another process without the boot; it is valid while this process runs. */
export function identityOf(pid: number, proc: string = PROC): ProcessIdentity {
  return { pid, started: statFields(pid, proc)?.[STARTED_FIELD] ?? "", boot: "" };
}

/** Whether exactly this process still runs; true when that cannot be found out. */
export function isRunning(identity: ProcessIdentity, proc: string = PROC): boolean {
  if (identity.boot !== "") {
    const own = ownIdentity(proc);
    if (own.boot !== "" && identity.boot !== own.boot) return false;
  }
  const fields = statFields(identity.pid, proc);
  if (fields === undefined) return answersSignals(identity.pid);
  // A dead process whose parent has not waited for it keeps its id but does nothing.
  if (fields[STATE_FIELD] === "Z" || fields[STATE_FIELD] === "X") return false;
  return identity.started === "" || identity.started === fields[STARTED_FIELD];
}

/** Returns the fields of /proc/<pid>/stat after the name; undefined when there is no such process. */
export function statFields(pid: number, proc: string): string[] | undefined {
  const stat = textOf(`${proc}/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Asks the kernel whether a process exists, with signal 0. */
function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return failureCode(error) !== "ESRCH";
  }
}

/** Returns the text of a small file; undefined when it does not exist or may not be read. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
