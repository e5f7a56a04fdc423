// Who a process is, in a way that outlives it: its number, when it started and in which boot of the
// machine. The folder lock calls it to tell a broker that runs from the traces of one that does not, and
// starter.ts to see whether those who started this one still run.
// Where the system offers no /proc there is only the number, and a question to the kernel.

import { readFileSync } from "node:fs";
import process from "node:process";
import { failureCode } from "./disk_attempt.ts";

/** A process that runs or ran; what the system does not tell is empty. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in the kernel's ticks since boot: a number used again has another. */
  readonly started: string;
  /** The boot it belongs to: after another one no process of before is left. */
  readonly boot: string;
}

/** Where the kernel shows its processes. */
export const PROC = "/proc";

// Fields of /proc/<pid>/stat, counted behind the name, which ends at the last parenthesis.
const STATE_FIELD = 0;
const STARTED_FIELD = 19;

/** The identity of this process. */
export function ownIdentity(proc: string = PROC): ProcessIdentity {
  return {
    ...identityOf(process.pid, proc),
    boot: textOf(`${proc}/sys/kernel/random/boot_id`)?.trim() ?? "",
  };
}

/** The identity of another process, for as long as this one runs: it names no boot. */
export function identityOf(pid: number, proc: string = PROC): ProcessIdentity {
  return { pid, started: statFields(pid, proc)?.[STARTED_FIELD] ?? "", boot: "" };
}

/** Whether that very process still runs; yes where that cannot be told. */
export function isRunning(identity: ProcessIdentity, proc: string = PROC): boolean {
  if (identity.boot !== "") {
    const own = ownIdentity(proc);
    if (own.boot !== "" && identity.boot !== own.boot) return false;
  }
  const fields = statFields(identity.pid, proc);
  if (fields === undefined) return answersSignals(identity.pid);
  // A dead process that nobody has asked for yet keeps its number and does nothing.
  if (fields[STATE_FIELD] === "Z" || fields[STATE_FIELD] === "X") return false;
  return identity.started === "" || identity.started === fields[STARTED_FIELD];
}

/** The fields of /proc/<pid>/stat behind the name; undefined when there is no such process. */
export function statFields(pid: number, proc: string): string[] | undefined {
  const stat = textOf(`${proc}/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Asks the kernel for a process by the signal that does nothing. */
function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return failureCode(error) !== "ESRCH";
  }
}

/** A small file, or undefined when it is not there or may not be read. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
