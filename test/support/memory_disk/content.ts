// The bytes of one simulated file: what was written (the page cache), what a power loss certainly
// leaves (the durable image) and the changes between the two, in order. MemoryDisk calls it; it knows
// nothing of names or handles.

import { assert } from "../../../src/lib/assert.ts";
import type { Prng } from "../../../src/lib/prng.ts";

const SECTOR_BYTES = 512;

/** A file image: `bytes[0, byteLength)`. */
interface Image {
  bytes: Uint8Array;
  byteLength: number;
}

/**
 * A change of a file. `pending` waits for a sync, `synced` survives a power loss, `dropped` was
 * covered by a sync that failed: the system believes it clean, so no later sync saves it.
 */
interface Change {
  /** `extend` makes zeros from the end of the file, at `offset`, to `end`. */
  readonly kind: "write" | "truncate" | "extend" | "flip";
  readonly offset: number;
  readonly end: number;
  readonly bytes: Uint8Array;
  state: "pending" | "synced" | "dropped";
}

const NO_BYTES = new Uint8Array(0);

function emptyImage(): Image {
  return { bytes: NO_BYTES, byteLength: 0 };
}

function copyImage(image: Image): Image {
  return { bytes: image.bytes.slice(0, image.byteLength), byteLength: image.byteLength };
}

function resize(image: Image, byteLength: number): void {
  if (byteLength > image.bytes.length) {
    const grown = new Uint8Array(Math.max(byteLength, image.bytes.length * 2, 256));
    grown.set(image.bytes.subarray(0, image.byteLength));
    image.bytes = grown;
  }
  // What was cut must read as zeros when the file grows again.
  if (byteLength < image.byteLength) image.bytes.fill(0, byteLength, image.byteLength);
  image.byteLength = byteLength;
}

function put(image: Image, offset: number, bytes: Uint8Array): void {
  if (bytes.length === 0) return;
  resize(image, Math.max(image.byteLength, offset + bytes.length));
  image.bytes.set(bytes, offset);
}

function apply(image: Image, change: Change): void {
  if (change.kind === "truncate") resize(image, change.offset);
  else if (change.kind === "write") put(image, change.offset, change.bytes);
  else if (change.kind === "extend") {
    resize(image, Math.max(image.byteLength, change.end));
    image.bytes.fill(0, change.offset, change.end);
  } else if (change.offset < image.byteLength) {
    image.bytes[change.offset] = image.bytes[change.offset]! ^ change.bytes[0]!;
  }
}

/** Writes what a torn write leaves: a part from the front, or any of its sectors. */
function applyTorn(image: Image, change: Change, prng: Prng): void {
  const { offset, bytes } = change;
  if (prng.nextBelow(2) === 0) {
    put(image, offset, bytes.subarray(0, prng.nextBelow(bytes.length + 1)));
    return;
  }
  let from = 0;
  while (from < bytes.length) {
    const sectorEnd = (Math.floor((offset + from) / SECTOR_BYTES) + 1) * SECTOR_BYTES;
    const to = Math.min(bytes.length, sectorEnd - offset);
    if (prng.nextBelow(2) === 0) put(image, offset + from, bytes.subarray(from, to));
    from = to;
  }
}

/** Applies a change the way a power loss may have: whole, not at all, in part, or only its size. */
function applyPerhaps(image: Image, change: Change, prng: Prng): void {
  const fate = prng.nextBelow(4);
  if (fate === 0) return apply(image, change);
  if (fate === 1) return;
  if (change.kind !== "write") return prng.nextBelow(2) === 0 ? apply(image, change) : undefined;
  if (fate === 2) applyTorn(image, change, prng);
  const { end } = change;
  // The new size may be safe before the bytes are; they read as zeros then.
  if (end > image.byteLength && (fate === 3 || prng.nextBelow(2) === 0)) resize(image, end);
}

/** The content of one simulated file. */
export class FileContent {
  readonly #written: Image;
  readonly #durable: Image;
  /** What `#durable` lacks, oldest first; it begins with a change that is not `synced`. */
  readonly #changes: Change[];

  /** Creates an empty file. */
  constructor();
  constructor(written: Image, durable: Image, changes: Change[]);
  constructor(written = emptyImage(), durable = emptyImage(), changes: Change[] = []) {
    this.#written = written;
    this.#durable = durable;
    this.#changes = changes;
  }

  /** Size as written. */
  get byteLength(): number {
    return this.#written.byteLength;
  }

  /** Size that certainly survives a power loss, if no change of it is pending. */
  get durableByteLength(): number {
    return this.#durable.byteLength;
  }

  /** Whether a power loss may lose something. */
  get hasUnsynced(): boolean {
    return this.#changes.length > 0;
  }

  /** Writes a copy of `bytes` at `offset`. */
  write(offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (offset > this.byteLength) this.#extend(offset);
    this.#change({
      kind: "write",
      offset,
      end: offset + bytes.length,
      bytes: bytes.slice(),
      state: "pending",
    });
  }

  /** Cuts or extends to `byteLength`. */
  truncate(byteLength: number): void {
    if (byteLength > this.byteLength) return this.#extend(byteLength);
    const cut = { offset: byteLength, end: this.byteLength, bytes: NO_BYTES };
    this.#change({ kind: "truncate", ...cut, state: "pending" });
  }

  /** Turns one bit over, as a dying medium does: nobody sees it coming, and it stays. */
  flip(offset: number, bit: number): void {
    assert(offset < this.byteLength, "flipping a bit behind the end of a file");
    const turned = { offset, end: offset + 1, bytes: new Uint8Array([1 << bit]) };
    this.#change({ kind: "flip", ...turned, state: "synced" });
    this.#settle();
  }

  /** A copy of up to `length` bytes at `offset`, as written. */
  read(offset: number, length: number): Uint8Array {
    const end = Math.min(this.byteLength, offset + length);
    return this.#written.bytes.slice(Math.min(offset, end), end);
  }

  /** What a sync begun now covers; given to `synced` or `dropped` when it is over. */
  beginSync(): Change[] {
    return this.#changes.slice();
  }

  /** A sync of `covered` is over: it survives a power loss. */
  synced(covered: Change[]): void {
    for (const change of covered) if (change.state === "pending") change.state = "synced";
    this.#settle();
  }

  /** A sync of `covered` failed: whether it survives is open, and no later sync settles it. */
  dropped(covered: Change[]): void {
    for (const change of covered) if (change.state === "pending") change.state = "dropped";
  }

  /** The file after the death of the process: all of it, what was unsynced still is. */
  afterProcessDeath(): FileContent {
    const changes = this.#changes.map((change) => ({ ...change }));
    return new FileContent(copyImage(this.#written), copyImage(this.#durable), changes);
  }

  /** The file after a power loss, one of the many it may be. */
  afterPowerLoss(prng: Prng): FileContent {
    const image = copyImage(this.#durable);
    // Runs in which everything or nothing reached the disk are as likely as mixtures.
    const mood = prng.nextBelow(4);
    for (const change of this.#changes) {
      if (change.state === "synced" || mood === 0) apply(image, change);
      else if (mood > 1) applyPerhaps(image, change, prng);
    }
    return new FileContent(image, copyImage(image), []);
  }

  #extend(end: number): void {
    const gap = { offset: this.byteLength, end, bytes: NO_BYTES };
    this.#change({ kind: "extend", ...gap, state: "pending" });
  }

  #change(change: Change): void {
    apply(this.#written, change);
    this.#changes.push(change);
  }

  #settle(): void {
    let settled = 0;
    while (this.#changes[settled]?.state === "synced") {
      apply(this.#durable, this.#changes[settled]!);
      settled++;
    }
    this.#changes.splice(0, settled);
  }
}

export type { Change };
