// The options of the library. Those that are settings are read by the table of settings, the others
// by kinds of the same sort. mod.ts passes whatever a program has passed. It never trusts the types
// that a program was compiled with.

import { type Logger, SILENT_LOGGER } from "../lib/logger.ts";
import { applyLimits } from "./file.ts";
import { oneOf, wholeNumber } from "./kinds.ts";
import { ConfigError } from "./config_error.ts";
import { refuseWhatDoesNotFit } from "./memory_split.ts";
import { type Members, type TakeMember, takeMembers } from "./members.ts";
import { type Config, HOST, PORT, settingNamed } from "./settings.ts";

/** The address and number of a port. */
interface PortAddress {
  host: string;
  port: number;
}

/** The options of one broker, checked. */
export interface GivenOptions {
  readonly config: Config;
  readonly amqp: PortAddress;
  /** Null for no HTTP at all. */
  http: PortAddress | null;
  clock: "system" | "virtual";
  /** Undefined for the real time. */
  startTime: number | undefined;
  /** Undefined for a random one. */
  seed: number | undefined;
  logger: Logger;
  onFailure: (error: unknown) => void;
}

/** The last moment for which there is a date, ms. */
const TIME_MS_MAX = 8_640_000_000_000_000;

const CLOCK = oneOf(["system", "virtual"] as const);
const START_TIME = wholeNumber(0, TIME_MS_MAX);
const SEED = wholeNumber(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** Reads the options of `Broker.start`, over `config`; throws {@linkcode ConfigError}. */
export function readOptions(options: unknown, config: Config): GivenOptions {
  const given: GivenOptions = {
    config,
    amqp: { host: config.bind, port: config.amqpPort },
    http: null,
    clock: "system",
    startTime: undefined,
    seed: undefined,
    logger: SILENT_LOGGER,
    onFailure: () => {},
  };
  takeMembers(options, membersOf(given), { where: "", what: "option", joint: "." });
  refuseWhatDoesNotFit(config.limits, "limits.messageBytesMax");
  if (given.startTime !== undefined && given.clock !== "virtual") {
    throw new ConfigError('startTime: only a virtual clock can be set, use clock: "virtual" too');
  }
  return given;
}

function membersOf(given: GivenOptions): Members {
  const { config } = given;
  const setting = (name: string): TakeMember => (value, where) =>
    settingNamed(name).applyJson(config, value, where);
  return {
    amqp: (value, where) => takePort(value, where, given.amqp),
    http: (value, where) => {
      if (value === false) return;
      given.http = { host: config.bind, port: config.httpPort };
      takePort(value, where, given.http);
    },
    users: setting("users"),
    dataDir: setting("data-dir"),
    noSync: setting("no-sync"),
    diskFreeMin: setting("disk-free-min"),
    clock: (value, where) => {
      given.clock = CLOCK.fromJson(value, where);
      // Clients send heartbeats in real time, which a virtual clock does not follow.
      if (given.clock === "virtual") config.limits.heartbeatSeconds = 0;
    },
    maxMemory: setting("max-memory"),
    // Comes after `clock` and `maxMemory`, which set limits themselves.
    limits: (value, where) => applyLimits(config, value, where),
    startTime: (value, where) => given.startTime = START_TIME.fromJson(value, where),
    seed: (value, where) => given.seed = SEED.fromJson(value, where),
    logger: (value, where) => given.logger = takeLogger(value, where),
    onFailure: (value, where) => {
      if (typeof value !== "function") throw ConfigError.forValue(where, value, "a function");
      given.onFailure = value as GivenOptions["onFailure"];
    },
  };
}

function takePort(value: unknown, where: string, address: PortAddress): void {
  const members: Members = {
    host: (host, at) => address.host = HOST.fromJson(host, at),
    port: (port, at) => address.port = PORT.fromJson(port, at),
  };
  takeMembers(value, members, { where, what: "option", joint: "." });
}

// Any object with a method `log` is accepted. A program's own logger may have more members.
function takeLogger(value: unknown, where: string): Logger {
  const log = typeof value === "object" && value !== null ? (value as Logger).log : undefined;
  if (typeof log === "function") return value as Logger;
  throw ConfigError.forValue(where, value, "an object with a function log(level, message, fields)");
}
