// The manifest: one small file that says which snapshot and which log files count. It is replaced
// as a whole, so a crash leaves the old one or the new one. A start reads it first, and its format
// version decides whether the folder may be touched at all.

import { decodeText, encodeText } from "../../lib/text.ts";
import { checksum } from "../checksum.ts";
import { DiskError, type FileSystem } from "../file_system.ts";
import { FORMAT_VERSION, FORMAT_VERSION_MIN, MANIFEST_NAME } from "../format/format.ts";

const NAME_NEW = `${MANIFEST_NAME}.new`;
const LENGTH_MAX = 4096;

/** The content of a manifest. */
export interface Manifest {
  /** Version of every file in the folder. */
  format: number;
  /**
   * Seed of every checksum. It is drawn when the folder is made, so that no message can imitate a
   * batch.
   */
  seed: number;
  /** Number of the snapshot file; null before the first one. */
  snapshot: number | null;
  /**
   * Every batch up to this one is safe. Later batches say it of those before them, so that only the
   * last ones are in doubt. An orderly end and each start set this to the last batch.
   */
  safeBatch: number;
  /** The last batch that is in the snapshot; 0 without one. */
  lastBatch: number;
  /** Log files with a lower number hold only records, and no entries that matter. */
  fromLog: number;
}

/** The folder cannot be used as it is. The message says why, and what to do. */
export class StoreFormatError extends Error {
  override readonly name = "StoreFormatError";
}

/**
 * Reads the manifest; null when the folder has none.
 * @throws StoreFormatError for a newer format or a damaged manifest; nothing has been touched
 */
export function readManifest(fs: FileSystem): Manifest | null {
  let bytes: Uint8Array;
  try {
    const handle = fs.open(MANIFEST_NAME, "read");
    bytes = handle.readNow(0, LENGTH_MAX);
    handle.close();
  } catch (error) {
    if (error instanceof DiskError && error.code === "ENOENT") return null;
    throw error;
  }
  const [line, sum] = decodeText(bytes, 0, bytes.length).split("\n");
  const format = /"format":(\d+)/.exec(line ?? "")?.[1];
  if (format !== undefined && !isReadable(Number(format))) {
    throw new StoreFormatError(
      `the data folder has format ${format}, this program reads formats ${FORMAT_VERSION_MIN} to ` +
        `${FORMAT_VERSION}: use the version that wrote it, or another folder`,
    );
  }
  if (line === undefined || sum !== checkLine(line)) {
    throw new StoreFormatError("the manifest of the data folder is damaged");
  }
  return JSON.parse(line) as Manifest;
}

/**
 * Replaces the manifest.
 * @throws DiskError; then the old manifest counts, or the new one if only its name could not be
 * made safe
 */
export function writeManifest(fs: FileSystem, manifest: Manifest): void {
  const line = JSON.stringify(manifest);
  const bytes = encodeText(`${line}\n${checkLine(line)}\n`);
  fs.remove(NAME_NEW);
  const handle = fs.open(NAME_NEW, "create");
  try {
    handle.write(bytes, 0, bytes.length, 0);
    handle.syncNow();
  } finally {
    handle.close();
  }
  fs.rename(NAME_NEW, MANIFEST_NAME);
  fs.syncFolder("");
}

/**
 * Sets the format of the folder to the one that is written now, before anything is written that an
 * older version would not understand.
 * @throws DiskError
 */
export function upgradeManifest(fs: FileSystem, manifest: Manifest): void {
  if (manifest.format === FORMAT_VERSION) return;
  manifest.format = FORMAT_VERSION;
  writeManifest(fs, manifest);
}

function isReadable(format: number): boolean {
  return format >= FORMAT_VERSION_MIN && format <= FORMAT_VERSION;
}

function checkLine(line: string): string {
  const bytes = encodeText(line);
  return checksum(bytes, 0, bytes.length).toString(16);
}
