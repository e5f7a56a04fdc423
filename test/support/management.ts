// The HTTP API of a broker without sessions and sockets: requests go straight into the app. Used by the
// management tests.

import { DEFAULT_USER, type UserConfig, Users } from "../../src/broker/access/users.ts";
import type { LogFields, LogLevel } from "../../src/lib/logger.ts";
import { createApp, type ManagementApp } from "../../src/management/app.ts";
import type { StorageInfo } from "../../src/management/context.ts";
import { TestBroker } from "./test_broker.ts";

/** JSON of any shape, for tests that know what they expect. */
export type AnyJson = ReturnType<typeof JSON.parse>;

/** A request's answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; null when it is empty or not JSON. */
  readonly json: AnyJson;
}

/** Who asks, and from where. */
export interface Caller {
  readonly login?: string | null;
  readonly peerHost?: string;
  readonly method?: string;
}

const USERS = [
  DEFAULT_USER,
  { name: "monitor", password: "m:1", tags: ["monitoring"], loopbackOnly: false },
  { name: "app", password: "secret", tags: [], loopbackOnly: false },
];

/** A broker with its API. */
export class TestManagement {
  readonly test: TestBroker;
  readonly logs: { level: LogLevel; message: string; fields: LogFields | undefined }[] = [];
  readonly app: ManagementApp;
  monotonicMs = 0;
  turnCount = 0;
  /** How long the API wanted to pause, rounds between slices left out; nothing waits. */
  readonly pausesMs: number[] = [];
  residentBytes = 123_456;
  acceptsConnections = true;
  /** Connections that the API has broken off. */
  droppedCount = 0;
  storage: StorageInfo | null = null;
  /** What a pause of the API's long work is; a test may put another one here. */
  pause: (delayMs: number) => Promise<void> = () => Promise.resolve();

  constructor(users: readonly UserConfig[] = USERS) {
    const logger = {
      log: (level: LogLevel, message: string, fields?: LogFields) => {
        this.logs.push({ level, message, fields });
      },
    };
    this.test = new TestBroker({ users: new Users(users), logger });
    this.app = createApp({
      broker: this.test.broker,
      node: {
        name: "rabbit@test",
        version: "1.2.3",
        rabbitmqVersion: "3.13.7",
        platform: "test 1",
      },
      listeners: () => [
        { protocol: "amqp", host: "127.0.0.1", port: 5672 },
        { protocol: "http", host: "127.0.0.1", port: 15672 },
      ],
      turn: (run) => {
        this.turnCount++;
        return run();
      },
      totals: () => ({ connectionCount: 3, channelCount: 4 }),
      acceptsConnections: () => this.acceptsConnections,
      monotonicMs: () => this.monotonicMs,
      nowMs: () => this.test.nowMs,
      pause: (delayMs) => {
        if (delayMs > 0) this.pausesMs.push(delayMs);
        return this.pause(delayMs);
      },
      residentBytes: () => this.residentBytes,
      storage: () => this.storage,
    });
  }

  /** Sends a request, as guest from this machine unless told otherwise. */
  async request(path: string, caller: Caller = {}): Promise<Answer> {
    const { login = "guest:guest", peerHost = "127.0.0.1", method = "GET" } = caller;
    const headers = new Headers();
    if (login !== null) headers.set("authorization", `Basic ${btoa(login)}`);
    const request = new Request(`http://test${path}`, { method, headers });
    const response = await this.app.fetch(request, {
      peerHost,
      dropPeer: () => this.droppedCount++,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  /** Sends a request that must succeed and returns its JSON. */
  async get(path: string): Promise<AnyJson> {
    const { status, text, json } = await this.request(path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
    return json;
  }
}

function parsed(text: string): AnyJson {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
