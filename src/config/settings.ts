// Every setting, once: its name, its kind and its place in the configuration. Flags, environment,
// file and help all read this table, so they cannot differ. It never reads a source itself.

import { DEFAULT_LIMITS, type Limits } from "../broker/limits.ts";
import type { UserConfig } from "../broker/access/users.ts";
import { LOG_LEVELS, type LogLevel } from "../lib/logger.ts";
import {
  byteAmount,
  folderPath,
  type Kind,
  oneOf,
  onOff,
  showBytes,
  wholeNumber,
  word,
} from "./kinds.ts";
import { LIMIT_RANGES } from "./limit_ranges.ts";
import { MAX_MEMORY_BYTES_MIN, messageBytesOf } from "./memory_split.ts";
import { userList } from "./users.ts";

/** The configuration of a node. */
export interface Config {
  /** Address that both ports listen on. */
  bind: string;
  /** 0 = any free one. */
  amqpPort: number;
  /** 0 = any free one. */
  httpPort: number;
  /** Folder of the store on disk. */
  dataDir: string;
  /** Whether everything stays in memory. The folder is not used then. */
  isInMemory: boolean;
  /** False: messages count as safe once the operating system has them. */
  isSynced: boolean;
  /** Publishers wait while the disk of the data folder has less free space than this, bytes. */
  diskFreeBytesMin: number;
  logLevel: LogLevel;
  users: readonly UserConfig[];
  limits: Limits;
}

/** One setting: `amqp-port` is `--amqp-port`, `REPRISE_AMQP_PORT` and `amqpPort` in the file. */
export interface Setting {
  /** The name with dashes, without the leading ones. */
  readonly name: string;
  /** The text of `--help` about the setting. */
  readonly help: string;
  readonly accepted: string;
  /** The group of the file in which the setting is; undefined at its top. */
  readonly group?: "limits";
  /** Whether the flag needs no value: `--memory` is `--memory=true`. */
  readonly isSwitch: boolean;
  /** Whether there is a flag; false for a value that does not belong on a command line. */
  readonly hasFlag: boolean;
  /**
   * Puts a value from text into the configuration. Throws `ConfigError`, which names the setting by
   * `where`.
   */
  applyText(config: Config, text: string, where: string): void;
  /**
   * Puts a value from JSON into the configuration. Throws `ConfigError`, which names the setting by
   * `where`.
   */
  applyJson(config: Config, value: unknown, where: string): void;
}

interface SettingOptions<T> {
  name: string;
  help: string;
  kind: Kind<T>;
  assign: (config: Config, value: T) => void;
  group?: "limits";
  isSwitch?: boolean;
  hasFlag?: boolean;
}

function setting<T>(options: SettingOptions<T>): Setting {
  const { name, help, kind, assign } = options;
  return {
    name,
    help,
    accepted: kind.accepted,
    ...(options.group === undefined ? {} : { group: options.group }),
    isSwitch: options.isSwitch ?? false,
    hasFlag: options.hasFlag ?? true,
    applyText: (config, text, where) => assign(config, kind.fromText(text, where)),
    applyJson: (config, value, where) => assign(config, kind.fromJson(value, where)),
  };
}

/** The kind of an address to listen on. */
export const HOST: Kind<string> = word("an IP address or a host name of this machine");
/** The kind of a port to listen on, 0 for any free one. */
export const PORT: Kind<number> = wholeNumber(0, 65_535);

/** The default folder of the data, in the working directory. */
export const DEFAULT_DATA_DIR = "reprise-data";
/**
 * Default free space below which publishers wait: some log files, and a snapshot of a large state;
 * 256 MiB.
 */
export const DEFAULT_DISK_FREE_BYTES_MIN = 256 * 1024 * 1024;

const MAIN_SETTINGS: readonly Setting[] = [
  setting({
    name: "bind",
    help: "address to listen on (127.0.0.1)",
    kind: HOST,
    assign: (config, value) => config.bind = value,
  }),
  setting({
    name: "amqp-port",
    help: "AMQP port, 0 = any free one (5672)",
    kind: PORT,
    assign: (config, value) => config.amqpPort = value,
  }),
  setting({
    name: "http-port",
    help: "HTTP port, 0 = any free one (15672)",
    kind: PORT,
    assign: (config, value) => config.httpPort = value,
  }),
  setting({
    name: "data-dir",
    help: `folder that keeps what must survive (${DEFAULT_DATA_DIR})`,
    kind: folderPath,
    // A folder from a source of higher rank wins over `memory` from a lower one.
    assign: (config, value) => {
      config.dataDir = value;
      config.isInMemory = false;
    },
  }),
  setting({
    name: "memory",
    help: "keep everything in memory: nothing survives the end of the process",
    kind: onOff,
    assign: (config, value) => config.isInMemory = value,
    isSwitch: true,
  }),
  setting({
    name: "no-sync",
    help: "confirm before the disk has it: faster, and lost if the machine loses power",
    kind: onOff,
    assign: (config, value) => config.isSynced = !value,
    isSwitch: true,
  }),
  setting({
    name: "disk-free-min",
    help: "publishers wait while the disk has less room than this (256M)",
    kind: byteAmount(0),
    assign: (config, value) => config.diskFreeBytesMin = value,
  }),
  setting({
    name: "max-memory",
    help: "memory the whole process is to stay below; sets --memory-bytes-max",
    kind: byteAmount(MAX_MEMORY_BYTES_MIN),
    assign: (config, value) => config.limits.memoryBytesMax = messageBytesOf(value),
  }),
  setting({
    name: "log-level",
    help: "least severe log line to write to standard error (warn)",
    kind: oneOf(LOG_LEVELS),
    assign: (config, value) => config.logLevel = value,
  }),
  setting({
    name: "users",
    help: "who may log in, as JSON (guest/guest, from this machine only)",
    kind: userList,
    assign: (config, value) => config.users = value,
    hasFlag: false,
  }),
];

/** Every setting, the limits last. */
export const SETTINGS: readonly Setting[] = [...MAIN_SETTINGS, ...limitSettings()];

function limitSettings(): Setting[] {
  return (Object.keys(LIMIT_RANGES) as (keyof Limits)[]).map((key) => {
    const { min, max, help } = LIMIT_RANGES[key];
    const isBytes = isByteLimit(key);
    const byDefault = DEFAULT_LIMITS[key];
    return setting({
      name: dashed(key),
      help: `${help} (${isBytes ? showBytes(byDefault) : byDefault})`,
      kind: isBytes ? byteAmount(min, max) : wholeNumber(min, max),
      assign: (config, value) => config.limits[key] = value,
      group: "limits",
    });
  });
}

/**
 * Whether the name of a limit says that it counts bytes. It is then written like every amount of
 * bytes.
 */
function isByteLimit(key: keyof Limits): boolean {
  return /Bytes(?![a-z])/.test(key);
}

function dashed(camelName: string): string {
  return camelName.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the setting of this name. */
export function settingNamed(name: string): Setting {
  const found = SETTINGS.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no setting ${name}`);
  return found;
}

/**
 * Returns the place of a setting in the table. The values of one source are applied in this order.
 */
export function orderOf(setting: Setting): number {
  return SETTINGS.indexOf(setting);
}

/** Returns the name of a setting in the file and in the library: `amqp-port` is `amqpPort`. */
export function keyOf(setting: Setting): string {
  return setting.name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the name of a setting in the environment: `amqp-port` is `REPRISE_AMQP_PORT`. */
export function variableOf(setting: Setting): string {
  return `REPRISE_${setting.name.replaceAll("-", "_").toUpperCase()}`;
}
