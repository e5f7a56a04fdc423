// The parts of the node that the HTTP API needs: the broker, turns to read it in, and facts about
// the process that only server.ts knows. server.ts passes them to createApp; the API reaches for
// nothing else.

import type { Broker } from "../broker/broker.ts";
import type { Histogram } from "../broker/metrics.ts";
import type { User } from "../broker/access/users.ts";

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
  /** `rabbit@<host>`, because tools match on this form. */
  readonly name: string;
  /** The version of Reprise. */
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
  /** Whether persistent messages cannot be kept at the moment. */
  readonly isReadOnly: boolean;
  /** Free space of the disk, bytes; null when the disk does not say. */
  readonly freeBytes: number | null;
  /** Free space below which publishers wait, bytes. */
  readonly freeBytesMin: number;
  readonly isDiskLow: boolean;
  /** Data files by kind. */
  readonly files: readonly { kind: string; fileCount: number; byteCount: number }[];
  /** Bytes appended to the commit log since the start. */
  readonly loggedBytes: number;
  /** Durations of the syncs of the commit log and the other files. */
  readonly syncSeconds: Histogram;
}

/** The node as the HTTP API sees it. */
export interface ManagementContext {
  readonly broker: Broker;
  readonly node: NodeInfo;
  listeners(): readonly ListenerInfo[];
  /** Runs a read or an operation as a turn of its own, with broker time up to date. */
  turn<T>(run: () => T): T;
  totals(): ConnectionTotals;
  /** Whether new AMQP connections are admitted; false while descriptors are short. */
  acceptsConnections(): boolean;
  /** Milliseconds on a clock that never goes back, for rates. */
  monotonicMs(): number;
  /** Resolves after `delayMs` of real time. With 0, every socket is looked at once. */
  pause(delayMs: number): Promise<void>;
  /** Broker time now, also outside of turns. */
  nowMs(): number;
  /** Memory of the whole process, bytes. */
  residentBytes(): number;
  /** The data folder; null when everything is in memory. */
  storage(): StorageInfo | null;
}

/** The facts that the runtime's HTTP adapter gives about a request. */
export interface RequestOrigin {
  readonly peerHost: string;
  /** Breaks the connection off; see HttpPeer. */
  dropPeer(): void;
}

/** Types of every handler's context. */
export interface ManagementEnv {
  Bindings: RequestOrigin;
  Variables: { user: User };
}
