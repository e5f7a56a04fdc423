// Uses the types of dist/mod.js as programs do that import it by its path: with TypeScript under Node's
// resolution and a bundler's, for an older and for the newest library, and with Deno. Called by
// scripts/build.ts --smoke. Nothing is run here.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./process.ts";
import { denoCommand } from "./runtimes.ts";
import { tscCommand } from "./tools.ts";

/** Each kind of thing that the library exports; the wrong uses must be type errors. */
function consumer(library: string): string {
  return `
import { Broker, ConfigError, ListenError, StorageError, VERSION } from ${JSON.stringify(library)};
import type { Address, BrokerClock, BrokerOptions, Limits, LogFields, Logger, LogLevel, PortOptions,
  UserInput } from ${JSON.stringify(library)};

const limits: Partial<Limits> = { channelMax: 3 };
const users: UserInput[] = [{ name: "app", password: "secret", tags: ["monitoring"] }];
const logger: Logger = { log: (_level: LogLevel, _message: string, _fields?: LogFields) => {} };
const amqp: PortOptions = { port: 0 };
const options: BrokerOptions = { amqp, http: false, clock: "virtual", limits, users, logger };
export async function use(address: Address): Promise<string> {
  try {
    const broker: Broker = await Broker.start(options);
    const clock: BrokerClock = broker.clock;
    await clock.advance(1_000);
    const url: string = broker.url;
    await broker.close();
    await broker[Symbol.asyncDispose]();
    return url + VERSION + address.host;
  } catch (error) {
    if (error instanceof ListenError) return error.code;
    if (error instanceof ConfigError || error instanceof StorageError) return error.message;
    throw error;
  }
}
// @ts-expect-error -- a port is a number
Broker.start({ amqp: { port: "0" } });
// @ts-expect-error -- there is no such option
Broker.start({ port: 0 });
// @ts-expect-error -- it is a promise, not a broker
const url: string = Broker.start().url;
void url;
`;
}

const RESOLUTIONS = [
  ["--module", "nodenext"],
  ["--module", "preserve", "--moduleResolution", "bundler"],
];
const LIBRARIES = ["es2022", "esnext,dom"];

/** Throws unless the types of `mod.js` in the folder serve those who import it by its path. */
export async function checkTypesByPath(folder: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "reprise-consumer-"));
  try {
    writeFileSync(join(scratch, "package.json"), '{ "type": "module" }\n');
    writeFileSync(join(scratch, "consumer.ts"), consumer(join(folder, "mod.js")));
    const strict = "--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --target es2022";
    const steps: (readonly string[])[] = LIBRARIES.flatMap((library) =>
      RESOLUTIONS.map((resolution) => [
        ...tscCommand(),
        ...strict.split(" "),
        ...["--lib", library, ...resolution, "consumer.ts"],
      ])
    );
    steps.push([...denoCommand(), "check", "--no-config", "consumer.ts"]);
    for (const step of steps) {
      const { code, output } = await run(step, { cwd: scratch, quiet: true });
      if (code !== 0) throw new Error(`${step.join(" ")} failed:\n${output}`);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
