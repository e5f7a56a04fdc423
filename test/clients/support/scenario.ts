// Runs one scenario with every client library: a fresh broker inside this process on real TCP with
// virtual time, one connection and one channel, and an orderly end of all three.

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

/** Declares one test per library. */
export function scenario(name: string, run: (scene: Scene) => Promise<void>): void {
  for (const client of CLIENTS) {
    Deno.test(`${client.name}: ${name}`, () => withScene(client, run));
  }
}

async function withScene(client: Client, run: (scene: Scene) => Promise<void>): Promise<void> {
  await withBroker({}, async (broker) => {
    const connection = await client.connect(broker.url);
    try {
      const channel = await connection.openChannel();
      await run({ broker, client, connection, channel });
    } finally {
      await connection.close();
    }
  });
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
