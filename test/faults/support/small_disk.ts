// A real file system of a few megabytes: an ext4 image mounted by a loop device, or a tmpfs. For tests
// that fill a disk. Needs the right to mount; where it is missing, it says so.

import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a mounted file system is made by. */
type Kind = "ext4" | "tmpfs";

/** A mounted file system. */
export interface SmallDisk {
  readonly kind: Kind;
  /** Where it is mounted. */
  readonly folder: string;
  /** Unmounts it and removes all traces. */
  remove(): void;
}

/** Mounts a file system of about `megabytes`; null, with the reason, where that is not possible. */
export function mountSmallDisk(megabytes: number): SmallDisk | string {
  const base = mkdtempSync(join(tmpdir(), "reprise-disk-"));
  const folder = join(base, "mounted");
  mkdirSync(folder);
  const reasons: string[] = [];
  for (const kind of ["ext4", "tmpfs"] as const) {
    const reason = kind === "ext4"
      ? mountImage(join(base, "image"), folder, megabytes)
      : run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder);
    if (reason === null) return { kind, folder, remove: () => unmount(folder, base) };
    reasons.push(reason);
  }
  rmSync(base, { recursive: true });
  return `cannot mount a small file system: ${reasons.join("; ")}`;
}

function mountImage(image: string, folder: string, megabytes: number): string | null {
  const descriptor = openSync(image, "w");
  ftruncateSync(descriptor, megabytes * 1024 * 1024);
  closeSync(descriptor);
  // No blocks are kept for root, who may be the one to fill it.
  return run("mkfs.ext4", "-q", "-m", "0", image) ?? run("mount", "-o", "loop", image, folder);
}

function unmount(folder: string, base: string): void {
  const reason = run("umount", folder);
  if (reason !== null) throw new Error(reason);
  rmSync(base, { recursive: true });
}

/** Runs a program; null when it went well, else what went wrong. */
function run(file: string, ...args: string[]): string | null {
  const { status, error, stderr } = spawnSync(file, args, { encoding: "utf8" });
  if (status === 0) return null;
  return `${file}: ${error?.message ?? stderr.trim().split("\n")[0]}`;
}
