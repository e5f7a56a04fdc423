// Counts the descriptors (sockets and files) that the process may still open. Every accepted stream
// takes one here first. When only a reserve is left, new streams are refused, so that open streams, the
// data files and the HTTP API keep working. server.ts makes one; the net and http adapters call it.

import { readdirSync, readFileSync } from "node:fs";
import type { Logger } from "../lib/logger.ts";

/** The reserve is this part of all descriptors, but at least RESERVE_MIN and at most RESERVE_MAX. */
const RESERVE_SHARE = 1 / 8;
const RESERVE_MIN = 16;
const RESERVE_MAX = 256;
/** HTTP may use this part of the reserve, so that an operator can look while AMQP is refused. */
const HTTP_SHARE = 1 / 2;
/** The shortage ends when this part of the reserve is free in addition to the reserve. */
const OVER_SHARE = 1 / 4;
/** The open descriptors that are not streams are counted at most this often, ms. */
const LOOK_MS = 1000;

/** The protocol of a stream. */
export type StreamKind = "amqp" | "http";

/** The source of the numbers. */
export interface DescriptorSource {
  /** How many descriptors the process may have open; Infinity when that is not known. */
  readonly countMax: number;
  /** Returns how many descriptors are open now. */
  openCount(): number;
  nowMs(): number;
}

/** Decides whether one more stream may be opened. */
export class Descriptors {
  readonly #source: DescriptorSource;
  readonly #logger: Logger;
  readonly #reserve: number;
  #streamCount = 0;
  /** Descriptors that were not streams when they were last counted. */
  #otherCount = 0;
  #lookedAtMs = -Infinity;
  #isShort = false;

  constructor(source: DescriptorSource, logger: Logger) {
    this.#source = source;
    this.#logger = logger;
    const share = Math.floor(source.countMax * RESERVE_SHARE);
    this.#reserve = Math.min(RESERVE_MAX, Math.max(RESERVE_MIN, share));
  }

  /** Whether AMQP connections are refused because descriptors are short. */
  get isShort(): boolean {
    if (this.#isShort) this.#lookForEnd();
    return this.#isShort;
  }

  /** Takes a descriptor for a stream. Returns false when the stream must be refused. */
  take(kind: StreamKind): boolean {
    if (this.#source.countMax === Infinity) return true;
    const isAdmitted = this.hasRoom(kind);
    if (isAdmitted) this.#streamCount++;
    else if (!this.#isShort) this.#begin();
    return isAdmitted;
  }

  /** Whether one more stream of this kind would be accepted. */
  hasRoom(kind: StreamKind): boolean {
    this.#look();
    if (this.#isShort) this.#lookForEnd();
    if (kind === "http") return this.#freeCount() > this.#reserve * HTTP_SHARE;
    return !this.#isShort && this.#freeCount() > this.#reserve;
  }

  /** Gives back the descriptor of a stream that has been closed. */
  give(): void {
    if (this.#source.countMax === Infinity) return;
    this.#streamCount--;
    if (this.#isShort) this.#lookForEnd();
  }

  #freeCount(): number {
    return this.#source.countMax - this.#otherCount - this.#streamCount;
  }

  #look(): void {
    const nowMs = this.#source.nowMs();
    if (nowMs - this.#lookedAtMs < LOOK_MS) return;
    this.#lookedAtMs = nowMs;
    this.#otherCount = Math.max(0, this.#source.openCount() - this.#streamCount);
  }

  #begin(): void {
    this.#isShort = true;
    this.#logger.log("warn", "file descriptors are short: new connections are refused", {
      openCountMax: this.#source.countMax,
      reserve: this.#reserve,
      streams: this.#streamCount,
    });
  }

  #lookForEnd(): void {
    this.#look();
    if (this.#freeCount() <= this.#reserve * (1 + OVER_SHARE)) return;
    this.#isShort = false;
    this.#logger.log("warn", "file descriptors are no longer short: new connections are accepted");
  }
}

const LIMITS_FILE = "/proc/self/limits";
const OPEN_FOLDER = "/proc/self/fd";

/** Returns the numbers of this process, where the operating system shows them. */
export function processDescriptors(): DescriptorSource {
  return { countMax: readCountMax(), openCount: readOpenCount, nowMs: () => performance.now() };
}

function readCountMax(): number {
  try {
    const line = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS_FILE, "utf8"));
    readdirSync(OPEN_FOLDER);
    return line === null ? Infinity : Number(line[1]);
  } catch {
    // On another system, or without the permission to look, no stream is refused for this reason.
    return Infinity;
  }
}

function readOpenCount(): number {
  try {
    // One of the entries is the folder itself, which is open while it is read.
    return readdirSync(OPEN_FOLDER).length - 1;
  } catch {
    // No descriptor was left to open the folder.
    return Infinity;
  }
}
