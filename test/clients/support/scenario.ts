// Runs one scenario with every client library and every store: a fresh broker inside this process on
// real TCP with virtual time, one connection and one channel, and an orderly end of all three. On disk
// queues are durable and messages persistent unless the scenario says otherwise.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Broker, type BrokerOptions } from "../../../src/mod.ts";
import { AMQPLIB } from "./amqplib.ts";
import type { Client, ClientChannel, ClientConnection } from "./client.ts";
import { CLOUDAMQP } from "./cloudamqp.ts";
import { RABBITMQ_CLIENT } from "./rabbitmq_client.ts";

/** The libraries that every scenario runs with. */
export const CLIENTS: readonly Client[] = [AMQPLIB, CLOUDAMQP, RABBITMQ_CLIENT];

/** What a scenario works with. */
export interface Scene {
  readonly broker: Broker;
  readonly client: Client;
  readonly connection: ClientConnection;
  readonly channel: ClientChannel;
}

/** Declares one test per library and store. */
export function scenario(name: string, run: (scene: Scene) => Promise<void>): void {
  for (const client of CLIENTS) {
    Deno.test(`${client.name}: ${name}`, () => withScene(client, {}, run));
    Deno.test(`${client.name} on disk: ${name}`, async () => {
      const dataDir = mkdtempSync(join(tmpdir(), "reprise-scene-"));
      try {
        await withScene(client, { dataDir }, run);
      } finally {
        rmSync(dataDir, { recursive: true });
      }
    });
  }
}

async function withScene(
  client: Client,
  options: BrokerOptions,
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  await withBroker(options, async (broker) => {
    const connection = await client.connect(broker.url);
    try {
      const channel = await connection.openChannel();
      if (options.dataDir !== undefined) makeDurable(channel);
      await run({ broker, client, connection, channel });
    } finally {
      await connection.close();
    }
  });
}

function makeDurable(channel: ClientChannel): void {
  const declareQueue = channel.declareQueue.bind(channel);
  const publish = channel.publish.bind(channel);
  channel.declareQueue = (name, options) =>
    declareQueue(name, { durable: options?.exclusive !== true, ...options });
  channel.publish = (exchange, key, body, options) =>
    publish(exchange, key, body, { persistent: true, ...options });
}

/** Runs something with a broker on free ports and ends the broker afterwards. */
export async function withBroker(
  options: BrokerOptions,
  run: (broker: Broker) => Promise<void>,
): Promise<void> {
  const broker = await Broker.start({
    amqp: { port: 0 },
    clock: "virtual",
    seed: 1,
    ...options,
  });
  try {
    await run(broker);
  } finally {
    await broker.close();
  }
}
