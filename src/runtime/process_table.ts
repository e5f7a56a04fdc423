// The processes above this one, from the kernel's /proc or, where there is none, from `ps`. Asked once by
// starter.ts; where neither can be read, nothing is known.

import { spawnSync } from "node:child_process";
import process from "node:process";
import { identityOf, PROC, type ProcessIdentity, statFields, textOf } from "./process_identity.ts";

/** A process above this one, as far as it matters who started whom. */
export interface Ancestor {
  readonly identity: ProcessIdentity;
  readonly parentPid: number;
  /** Number of the process that leads its group: what a terminal signals together. */
  readonly groupId: number;
  /** What it was started with, the arguments separated by blanks. */
  readonly command: string;
}

// Fields of /proc/<pid>/stat behind the name.
const PARENT_FIELD = 1;
const GROUP_FIELD = 2;

/** Generations looked at: a launcher, a task runner, a shell and npm are four. */
const GENERATIONS_MAX = 12;

type Lookup = (pid: number) => Ancestor | undefined;

/** This process and those above it, from the nearest on; empty where it cannot be told. */
export function lineage(pid: number = process.pid, proc: string = PROC): Ancestor[] {
  const lookup = statFields(pid, proc) === undefined ? fromPs() : fromProc(proc);
  const found: Ancestor[] = [];
  let next = lookup(pid);
  while (next !== undefined && found.length < GENERATIONS_MAX) {
    found.push(next);
    next = next.parentPid > 0 ? lookup(next.parentPid) : undefined;
  }
  return found;
}

function fromProc(proc: string): Lookup {
  return (pid) => {
    const fields = statFields(pid, proc);
    if (fields === undefined) return undefined;
    return {
      identity: identityOf(pid, proc),
      parentPid: Number(fields[PARENT_FIELD]),
      groupId: Number(fields[GROUP_FIELD]),
      command: (textOf(`${proc}/${pid}/cmdline`) ?? "").replaceAll("\0", " ").trim(),
    };
  };
}

function fromPs(): Lookup {
  const rows = new Map<number, Ancestor>();
  for (const line of outputOfPs().split("\n")) {
    const [, pid, parentPid, groupId, command] = /^ *(\d+) +(\d+) +(\d+) +(.*)$/.exec(line) ?? [];
    if (command === undefined) continue;
    rows.set(Number(pid), {
      identity: { pid: Number(pid), started: "", boot: "" },
      parentPid: Number(parentPid),
      groupId: Number(groupId),
      command,
    });
  }
  return (pid) => rows.get(pid);
}

function outputOfPs(): string {
  try {
    const columns = ["-A", "-o", "pid=,ppid=,pgid=,args="];
    return spawnSync("ps", columns, { encoding: "utf8" }).stdout ?? "";
  } catch {
    return ""; // Not allowed to run anything.
  }
}
