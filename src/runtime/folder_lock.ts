// One broker per data folder. main.ts and mod.ts take the lock before anything in the folder is read,
// and give it back when everything is closed; a lock whose process is gone is taken over. The locks
// are empty files and everything is in their names, so they need no space and cannot be half written:
//
//   LOCK.<pid>.<started>.<boot>     uses the folder
//   CLAIM.<pid>.<started>.<boot>    wants to: exists while a process looks for locks and makes its own
//
// A name belongs to one process for ever, so a stale file can be removed by anybody at any time. Who
// holds a claim and has seen no other one that is alive is alone: a later process sees the claim.

import * as fs from "node:fs";
import { resolve } from "node:path";
import { attempt, ignoring } from "./disk_attempt.ts";
import { isRunning, ownIdentity, type ProcessIdentity } from "./process_identity.ts";

const LOCK = "LOCK";
const CLAIM = "CLAIM";
const NAME = /^(LOCK|CLAIM)\.([0-9]+)\.([0-9]*)\.([0-9a-f-]*)$/;

// Looking for locks takes a millisecond; who needs seconds for it has been stopped on the way.
const CLAIM_ROUNDS_MAX = 1000;
const CLAIM_ROUND_MS = 5;

/** The folder is used by a process that runs; `message` is one clear line. */
export class FolderLockedError extends Error {
  readonly folder: string;
  /** The process that uses it. */
  readonly pid: number;

  /** Creates the error for a folder and the process that uses it. */
  constructor(folder: string, owner: ProcessIdentity) {
    const doubt = owner.started === ""
      ? `; if that is no broker, remove ${folder}/${nameOf(LOCK, owner)}`
      : "";
    super(`the data folder ${folder} is in use by process ${owner.pid}${doubt}`);
    this.name = "FolderLockedError";
    this.folder = folder;
    this.pid = owner.pid;
  }
}

/** The right to use a data folder. */
export interface FolderLock {
  /** The absolute path of the folder. */
  readonly folder: string;
  /** Gives the folder back; doing it again does nothing. @throws DiskError */
  release(): void;
}

/**
 * Takes the lock of a folder that exists.
 * @throws FolderLockedError when another process, or another broker in this one, has it
 * @throws DiskError when the folder does not let us
 */
export function takeFolderLock(folder: string): FolderLock {
  const absolute = resolve(folder);
  const own = ownIdentity();
  const owner = attempt(absolute, () => takeOrOwner(absolute, own));
  if (owner !== null) throw new FolderLockedError(absolute, owner);
  const path = `${absolute}/${nameOf(LOCK, own)}`;
  return { folder: absolute, release: () => attempt(absolute, () => remove(path)) };
}

/** The process that uses a folder, for those who only look; undefined when nobody does. */
export function folderUser(folder: string): number | undefined {
  const absolute = resolve(folder);
  return attempt(absolute, () => identities(absolute, LOCK).find((each) => isRunning(each))?.pid);
}

/** Makes the lock, or says who is in the way. */
function takeOrOwner(folder: string, own: ProcessIdentity): ProcessIdentity | null {
  const rival = claimAlone(folder, own);
  if (rival !== null) return rival;
  try {
    const owner = sweep(folder, LOCK)[0];
    if (owner !== undefined) return owner;
    createEmpty(`${folder}/${nameOf(LOCK, own)}`);
    return null;
  } finally {
    remove(`${folder}/${nameOf(CLAIM, own)}`);
  }
}

/** Waits until ours is the only claim that is alive; null then, else who never gave up theirs. */
function claimAlone(folder: string, own: ProcessIdentity): ProcessIdentity | null {
  const path = `${folder}/${nameOf(CLAIM, own)}`;
  let claimed = false;
  let rival = own;
  for (let round = 0; round < CLAIM_ROUNDS_MAX; round++) {
    // There already: another thread of this process is at it.
    claimed ||= ignoring("EEXIST", () => createEmpty(path));
    if (claimed) {
      const rivals = sweep(folder, CLAIM).filter((other) => !isSame(other, own));
      if (rivals.length === 0) return null;
      rival = rivals[0]!;
      // One of those who meet goes on and the others step back.
      if (rivals.some((other) => precedes(other, own))) {
        remove(path);
        claimed = false;
      }
    }
    sleep(CLAIM_ROUND_MS);
  }
  if (claimed) remove(path);
  return rival;
}

/** The processes named in a folder that run; removes what the others left. */
function sweep(folder: string, kind: string): ProcessIdentity[] {
  return identities(folder, kind).filter((identity) => {
    if (isRunning(identity)) return true;
    remove(`${folder}/${nameOf(kind, identity)}`);
    return false;
  });
}

function identities(folder: string, kind: string): ProcessIdentity[] {
  const named = fs.readdirSync(folder).map((name) => identityIn(name, kind));
  return named.filter((identity) => identity !== undefined);
}

function nameOf(kind: string, { pid, started, boot }: ProcessIdentity): string {
  return `${kind}.${pid}.${started}.${boot}`;
}

function identityIn(name: string, kind: string): ProcessIdentity | undefined {
  const parts = NAME.exec(name);
  if (parts === null || parts[1] !== kind) return undefined;
  return { pid: Number(parts[2]), started: parts[3]!, boot: parts[4]! };
}

function isSame(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started && a.boot === b.boot;
}

function precedes(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid < b.pid || (a.pid === b.pid && a.started < b.started);
}

function createEmpty(path: string): void {
  fs.closeSync(fs.openSync(path, "wx", 0o640));
}

function remove(path: string): void {
  ignoring("ENOENT", () => fs.unlinkSync(path));
}

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
