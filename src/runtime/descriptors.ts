// How many descriptors (sockets and files) the process may still open. Every accepted stream takes one
// here first: when only a reserve is left, new streams are refused, so that those that are open, the
// data files and the HTTP API go on. server.ts makes one; the net and http adapters ask it.

import { readdirSync, readFileSync } from "node:fs";
import type { Logger } from "../lib/logger.ts";

/** The reserve is this part of all descriptors, within these bounds. */
const RESERVE_SHARE = 1 / 8;
const RESERVE_MIN = 16;
const RESERVE_MAX = 256;
/** HTTP may use this part of the reserve, so that people can look when AMQP is refused. */
const HTTP_SHARE = 1 / 2;
/** This part of the reserve has to be free on top of it before the shortage is called over. */
const OVER_SHARE = 1 / 4;
/** What others than streams have open is looked up at most this often. */
const LOOK_MS = 1000;

/** What a stream is for. */
export type StreamKind = "amqp" | "http";

/** Where the numbers come from. */
export interface DescriptorSource {
  /** How many the process may have open; Infinity where that is not known. */
  readonly countMax: number;
  /** How many are open now. */
  openCount(): number;
  nowMs(): number;
}

/** Says who may have one more descriptor. */
export class Descriptors {
  readonly #source: DescriptorSource;
  readonly #logger: Logger;
  readonly #reserve: number;
  #streamCount = 0;
  /** Descriptors that are no streams, when they were last looked up. */
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

  /** Takes one for a stream; false when the stream is to be refused. */
  take(kind: StreamKind): boolean {
    if (this.#source.countMax === Infinity) return true;
    const isAdmitted = this.hasRoom(kind);
    if (isAdmitted) this.#streamCount++;
    else if (!this.#isShort) this.#begin();
    return isAdmitted;
  }

  /** Whether one more stream of this kind would be taken. */
  hasRoom(kind: StreamKind): boolean {
    this.#look();
    if (this.#isShort) this.#lookForEnd();
    if (kind === "http") return this.#freeCount() > this.#reserve * HTTP_SHARE;
    return !this.#isShort && this.#freeCount() > this.#reserve;
  }

  /** A stream that had taken one is gone. */
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

/** The numbers of this process, where the operating system shows them. */
export function processDescriptors(): DescriptorSource {
  return { countMax: readCountMax(), openCount: readOpenCount, nowMs: () => performance.now() };
}

function readCountMax(): number {
  try {
    const line = /^Max open files +(\d+)/m.exec(readFileSync(LIMITS_FILE, "utf8"));
    readdirSync(OPEN_FOLDER);
    return line === null ? Infinity : Number(line[1]);
  } catch {
    // Another system, or a runtime that may not look: then nobody is refused for this.
    return Infinity;
  }
}

function readOpenCount(): number {
  try {
    // One of them is the folder itself, while it is read.
    return readdirSync(OPEN_FOLDER).length - 1;
  } catch {
    // Not even this one could be opened.
    return Infinity;
  }
}
