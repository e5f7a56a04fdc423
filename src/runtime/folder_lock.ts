// Allows one broker per data folder. storage.ts takes the lock before it reads anything in the folder
// and releases it after all files are closed. The lock of a process that has ended is taken over. The
// locks are empty files whose names say everything, so they need no space and cannot be half written:
//
//   LOCK.<pid>.<started>.<boot>     the process uses the folder
//   CLAIM.<pid>.<started>.<boot>    the process is looking for locks and creating its own
//
// Each name belongs to one process for ever, so any process may remove a stale file at any time. A
// process that holds a claim and sees no other live claim is alone, because a later process sees its
// claim.

import * as fs from "node:fs";
import { resolve } from "node:path";
import { attempt, ignoring } from "./disk_attempt.ts";
import { isRunning, ownIdentity, type ProcessIdentity } from "./process_identity.ts";

const LOCK = "LOCK";
const CLAIM = "CLAIM";
const NAME = /^(LOCK|CLAIM)\.([0-9]+)\.([0-9]*)\.([0-9a-f-]*)$/;

// Looking for locks takes a millisecond. A process that needs seconds for it has been stopped
// meanwhile.
const CLAIM_ROUNDS_MAX = 1000;
const CLAIM_ROUND_MS = 5;

/** A running process uses the folder. `message` is one clear line. */
export class FolderLockedError extends Error {
  readonly folder: string;
  /** The process that uses the folder. */
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
  /** Releases the folder. Further calls do nothing. @throws DiskError */
  release(): void;
}

/**
 * Takes the lock of a folder that exists.
 * @throws FolderLockedError when another process, or another broker in this one, has the lock
 * @throws DiskError when the folder cannot be read or written
 */
export function takeFolderLock(folder: string): FolderLock {
  const absolute = resolve(folder);
  const own = ownIdentity();
  const owner = attempt(absolute, () => takeOrOwner(absolute, own));
  if (owner !== null) throw new FolderLockedError(absolute, owner);
  const path = `${absolute}/${nameOf(LOCK, own)}`;
  return { folder: absolute, release: () => attempt(absolute, () => remove(path)) };
}

/** Returns the process that uses a folder, without taking the lock; undefined when no process does. */
export function folderUser(folder: string): number | undefined {
  const absolute = resolve(folder);
  return attempt(absolute, () => identities(absolute, LOCK).find((each) => isRunning(each))?.pid);
}

/** Creates the lock and returns null, or returns the process that prevents it. */
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

/**
 * Waits until our claim is the only live one and returns null. Returns a rival that did not give up its
 * claim in time.
 */
function claimAlone(folder: string, own: ProcessIdentity): ProcessIdentity | null {
  const path = `${folder}/${nameOf(CLAIM, own)}`;
  let claimed = false;
  let rival = own;
  for (let round = 0; round < CLAIM_ROUNDS_MAX; round++) {
    // If the file exists already, another thread of this process is claiming.
    claimed ||= ignoring("EEXIST", () => createEmpty(path));
    if (claimed) {
      const rivals = sweep(folder, CLAIM).filter((other) => !isSame(other, own));
      if (rivals.length === 0) return null;
      rival = rivals[0]!;
      // Of several claiming processes, the first in order continues and the others step back.
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

/** Returns the running processes that are named in a folder, and removes the files of the others. */
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
