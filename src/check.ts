// The command `check`: opens a data folder that no broker uses, changes nothing in it, and lists in
// lines of text what it holds and what is damaged. main.ts prints the lines; src/store decides
// whether a folder is whole.

import { FolderFileSystem, isFolder } from "./runtime/file_system.ts";
import { folderUser } from "./runtime/folder_lock.ts";
import { refusal, StorageError } from "./storage.ts";
import { checkStore, type FolderReport } from "./store/recovery/folder_check.ts";
import { ReadOnlyFileSystem } from "./store/read_only_file_system.ts";

/** At most this many damaged places are listed; the others are only counted. */
const DAMAGES_SHOWN_MAX = 1000;

/** The result of checking a folder: the lines to print, and whether the folder is whole. */
export interface FolderCheck {
  readonly lines: readonly string[];
  readonly isWhole: boolean;
}

/**
 * Checks a folder.
 * @throws StorageError with one line when the folder cannot be read
 */
export function checkFolder(folder: string): FolderCheck {
  try {
    if (!isFolder(folder)) throw new StorageError(`${folder}: no such folder`);
    refuseUsed(folder);
    const report = checkStore(new ReadOnlyFileSystem(new FolderFileSystem(folder)));
    // The report means nothing if a broker has begun to write into the folder meanwhile.
    refuseUsed(folder);
    return { lines: linesOf(folder, report), isWhole: report.damages.length === 0 };
  } catch (error) {
    throw refusal(folder, error);
  }
}

function refuseUsed(folder: string): void {
  const user = folderUser(folder);
  if (user === undefined) return;
  throw new StorageError(`the data folder ${folder} is in use by process ${user}: stop it first`);
}

function linesOf(folder: string, report: FolderReport): string[] {
  const { definitions, queues, damages } = report;
  const until = report.lastTimeMs === 0 ? "never" : new Date(report.lastTimeMs).toISOString();
  const lines = [
    `data folder ${folder}`,
    `format ${report.format}, last batch ${report.lastBatch}, written until ${until}`,
    ...report.files.map(({ kind, fileCount, byteCount }) =>
      `${kind} files: ${fileCount}, ${byteCount} bytes`
    ),
    `exchanges ${definitions.exchange}, queues ${definitions.queue}, bindings ${definitions.binding}`,
    `messages checked: ${report.checkedCount}`,
    ...queues.map(({ vhost, name, ready, delayed, out, dying, bodyBytes }) =>
      `queue ${JSON.stringify(name)} in ${JSON.stringify(vhost)}: ` +
      `ready ${ready}, delayed ${delayed}, out ${out}, dead-lettering ${dying}, ` +
      `body bytes ${bodyBytes}`
    ),
    ...report.cuts.map(({ file, offset, what }) =>
      `torn end: ${file} at byte ${offset}: ${what}; no batch is known to follow, and the next start ` +
      "goes on without it"
    ),
    ...damages.slice(0, DAMAGES_SHOWN_MAX).map(({ file, offset, what }) =>
      `damage: ${file} at byte ${offset}: ${what}`
    ),
  ];
  if (damages.length > DAMAGES_SHOWN_MAX) {
    lines.push(`damage: ${damages.length - DAMAGES_SHOWN_MAX} more places`);
  }
  lines.push(
    damages.length === 0
      ? "whole"
      : `damaged: ${damages.length} place${damages.length === 1 ? "" : "s"}`,
  );
  return lines;
}
