// The executable: reads the settings, starts the server, prints the ready line, then waits for
// signals. A person or a supervisor runs it. A failed start is one line on standard error and exit
// code 1.

import { checkFolder } from "./check.ts";
import { type Config, ConfigError, loadCommand } from "./config.ts";
import type { LogFields } from "./lib/logger.ts";
import { loadRuntime } from "./runtime/load.ts";
import { LineLogger } from "./runtime/line_logger.ts";
import { formatAddress, ListenError } from "./runtime/listen_error.ts";
import type { Process, Runtime } from "./runtime/port.ts";
import { onStarterGone, type Starter, starterOf } from "./runtime/starter.ts";
import { SystemClock } from "./runtime/system_clock.ts";
import { SystemLoop } from "./runtime/system_loop.ts";
import { Server } from "./server.ts";
import { StorageError, storageOf } from "./storage.ts";
import { VERSION } from "./version.ts";

const SAME_SIGNAL_MS = 300;

async function main(runtime: Runtime): Promise<void> {
  const { process } = runtime;
  const command = loadCommand({
    args: process.args(),
    environment: process.environment,
    readTextFile: process.readTextFile,
  });
  switch (command.kind) {
    case "help":
      process.writeOut(command.text);
      return;
    case "version":
      process.writeOut(`reprise ${VERSION}\n`);
      return;
    case "check":
      if (!printCheck(process, command.dataDir)) process.exit(1);
      return;
    case "run":
      await run(runtime, command.config);
  }
}

/** Prints what a data folder holds. Returns whether the folder is whole. */
function printCheck(process: Process, folder: string): boolean {
  const { lines, isWhole } = checkFolder(folder);
  process.writeOut(lines.map((line) => `${line}\n`).join(""));
  return isWhole;
}

async function run(runtime: Runtime, config: Config): Promise<void> {
  const { process } = runtime;
  // The starter is looked up first, while its process still exists.
  const starter = starterOf(process.environment());
  const clock = new SystemClock();
  const logger = new LineLogger({
    minimum: config.logLevel,
    nowMs: () => clock.wallMs(),
    write: process.writeError,
  });
  const fail = (error: unknown) => {
    logger.log("error", "uncaught error", { error: describe(error) });
    process.exit(1);
  };
  process.onUncaught(fail);
  const server = await Server.start({
    runtime,
    amqp: { host: config.bind, port: config.amqpPort },
    http: { host: config.bind, port: config.httpPort },
    users: config.users,
    limits: config.limits,
    storage: storageOf(config),
    clock,
    loop: new SystemLoop(),
    logger,
    watchesPeers: true,
    seed: crypto.getRandomValues(new Uint32Array(1))[0]!,
    onFatal: () => process.exit(1),
  });
  stopOnSignal(runtime, server, { logger, clock, starter });
  const amqp = formatAddress(server.amqp.host, server.amqp.port);
  const http = formatAddress(server.http!.host, server.http!.port);
  process.writeOut(`reprise ready amqp=${amqp} http=${http}\n`);
}

interface StopOptions {
  readonly logger: LineLogger;
  readonly clock: SystemClock;
  readonly starter: Starter | null;
}

function stopOnSignal(
  runtime: Runtime,
  server: Server,
  { logger, clock, starter }: StopOptions,
): void {
  const { process } = runtime;
  let askedMs = -1;
  let isStopping = false;
  const stop = (fields: LogFields): void => {
    isStopping = true;
    logger.log("info", "stopping", fields);
    server.stop().then(() => process.exit(0), (error: unknown) => {
      logger.log("error", "could not stop in order", { error: describe(error) });
      process.exit(1);
    });
  };
  process.onSignal((signal) => {
    if (askedMs >= 0) {
      // A second signal means: do not wait for clients that do not answer. A signal that follows
      // within SAME_SIGNAL_MS is a copy of the first: it was sent to the whole process group, and the
      // program that started the broker passed it on as well.
      if (clock.monotonicMs() - askedMs >= SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    askedMs = clock.monotonicMs();
    if (!isStopping) stop({ signal });
  });
  onStarterGone(starter, () => {
    if (!isStopping) stop({ reason: "npm, which started the broker, has ended" });
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

function oneLine(error: unknown): string {
  const isClear = error instanceof ConfigError || error instanceof ListenError ||
    error instanceof StorageError;
  if (isClear) return error.message;
  return `could not start: ${describe(error)}`;
}

const runtime = await loadRuntime();
try {
  await main(runtime);
} catch (error) {
  runtime.process.writeError(`reprise: ${oneLine(error)}\n`);
  runtime.process.exit(1);
}
