// What the HTTP API needs from the rest of the node: the broker, turns to read it in, and facts about
// the process that only server.ts knows. Given to createApp; the API reaches for nothing else.

import type { Broker } from "../broker/broker.ts";
import type { Histogram } from "../broker/metrics.ts";
import type { User } from "../broker/users.ts";

/** A port this node listens on. */
export interface ListenerInfo {
  /** RabbitMQ's name: `amqp`, `http`. */
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
}

/** Connections and channels that are open now. */
export interface ConnectionTotals {
  readonly connectionCount: number;
  readonly channelCount: number;
}

/** Facts that do not change while the node runs. */
export interface NodeInfo {
  /** `rabbit@<host>`: tools match on the form. */
  readonly name: string;
  /** Our own version. */
  readonly version: string;
  /** The RabbitMQ release whose behaviour is followed. */
  readonly rabbitmqVersion: string;
  /** `node 26.12.1` and the like. */
  readonly platform: string;
}

/** The data folder as it is now. */
export interface StorageInfo {
  readonly folder: string;
  /** Whether confirms wait for the disk. */
  readonly isSynced: boolean;
  /** Persistent messages cannot be kept at the moment. */
  readonly isReadOnly: boolean;
  /** Room on the disk, bytes; null when it does not say. */
  readonly freeBytes: number | null;
  /** Room below which publishers wait, bytes. */
  readonly freeBytesMin: number;
  readonly isDiskLow: boolean;
  /** Data files by kind. */
  readonly files: readonly { kind: string; fileCount: number; byteCount: number }[];
  /** Bytes appended to the commit log since the start. */
  readonly loggedBytes: number;
  /** How long syncs of the commit log and the other files took. */
  readonly syncSeconds: Histogram;
}

/** The node as the HTTP API sees it. */
export interface ManagementContext {
  readonly broker: Broker;
  readonly node: NodeInfo;
  listeners(): readonly ListenerInfo[];
  /** Runs a read, or later an operation, as a turn of its own: the broker's time is up to date in it. */
  turn<T>(run: () => T): T;
  totals(): ConnectionTotals;
  /** Whether new AMQP connections are let in; false when descriptors are short. */
  acceptsConnections(): boolean;
  /** Milliseconds on a clock that never goes back, for rates. */
  monotonicMs(): number;
  /** Resolves after so many ms of real time; 0 lets every socket be looked at once. */
  pause(delayMs: number): Promise<void>;
  /** Broker time now, also outside of turns. */
  nowMs(): number;
  /** Memory of the whole process, bytes. */
  residentBytes(): number;
  /** The data folder; null when everything is in memory. */
  storage(): StorageInfo | null;
}

/** What the runtime's HTTP adapter says about a request. */
export interface RequestOrigin {
  readonly peerHost: string;
}

/** Types of every handler's context. */
export interface ManagementEnv {
  Bindings: RequestOrigin;
  Variables: { user: User };
}
