// The ancestors of this process, from the kernel's /proc or, on systems without it, from `ps`.
// starter.ts calls it once. When neither can be read, no ancestor is known.

import { spawnSync } from "node:child_process";
import process from "node:process";
import { identityOf, PROC, type ProcessIdentity, statFields, textOf } from "./process_identity.ts";

/** A process among the ancestors, with the properties that tell who started whom. */
export interface Ancestor {
  readonly identity: ProcessIdentity;
  readonly parentPid: number;
  /** Id of the process that leads its process group. A terminal signals a whole group. */
  readonly groupId: number;
  /** The command line, with the arguments separated by blanks. */
  readonly command: string;
}

// Fields of /proc/<pid>/stat, counted after the name.
const PARENT_FIELD = 1;
const GROUP_FIELD = 2;

/** Generations that are looked at; a launcher, a task runner, a shell and npm are four. */
const GENERATIONS_MAX = 12;

type Lookup = (pid: number) => Ancestor | undefined;

/** Returns this process and its ancestors, the nearest first; empty when they cannot be found out. */
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
    return ""; // The process may not run other programs.
  }
}
