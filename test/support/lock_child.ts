// The other process in the tests of the folder lock: takes the lock of the folder it is given, says in
// one line how that went, and keeps what it has until its input ends or it is killed.

import process from "node:process";
import { FolderLockedError, takeFolderLock } from "../../src/runtime/folder_lock.ts";

try {
  const lock = takeFolderLock(process.argv[2]!);
  process.stdout.write("taken\n");
  process.stdin.on("end", () => lock.release());
  process.stdin.resume();
} catch (error) {
  const pid = error instanceof FolderLockedError ? error.pid : "?";
  process.stdout.write(`refused: ${pid} ${(error as Error).message}\n`);
}
