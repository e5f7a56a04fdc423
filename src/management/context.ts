// What the HTTP API needs from the rest of the node: the broker, turns to read it in, and facts about
// the process that only server.ts knows. Given to createApp; the API reaches for nothing else.

import type { Broker } from "../broker/broker.ts";
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

/** The node as the HTTP API sees it. */
export interface ManagementContext {
  readonly broker: Broker;
  readonly node: NodeInfo;
  listeners(): readonly ListenerInfo[];
  /** Runs a read, or later an operation, as a turn of its own: the broker's time is up to date in it. */
  turn<T>(run: () => T): T;
  totals(): ConnectionTotals;
  /** Milliseconds on a clock that never goes back, for rates. */
  monotonicMs(): number;
  /** Memory of the whole process, bytes. */
  residentBytes(): number;
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
