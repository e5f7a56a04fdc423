// A file store as tests want it: nothing is said, nothing is given up, no room is kept in reserve, and the
// same every time. Tests name what they are about.

import { FileStore, type FileStoreOptions } from "../../src/store/file_store.ts";
import type { FileSystem } from "../../src/store/file_system.ts";

/** Opens the folder of a disk; `options` replace what is said here. */
export function openStore(fs: FileSystem, options: Partial<FileStoreOptions> = {}): FileStore {
  return FileStore.open({
    fs,
    logger: { log() {} },
    isSynced: true,
    freeBytesMin: 0,
    residentBytesMax: Infinity,
    seed: 12345,
    ...options,
    sizes: { reserveBytes: 0, ...options.sizes },
  });
}
