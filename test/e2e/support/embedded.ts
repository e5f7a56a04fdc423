// A program that embeds a broker, uses it with a client, closes both and has nothing left to do: it must
// end by itself. Run by embedded_test.ts as a process of its own; it never calls exit.

import amqplib from "amqplib";
import { Broker } from "../../../src/mod.ts";

const broker = await Broker.start({ amqp: { port: 0 }, http: { port: 0 } });
const connection = await amqplib.connect(broker.url);
connection.on("error", () => {});
const channel = await connection.createChannel();
channel.on("error", () => {});
await channel.assertQueue("q", { arguments: { "x-delayed-retry-min": 60_000 } });
channel.sendToQueue("q", Buffer.from("job"));
await channel.consume("q", (message) => {
  if (message !== null) channel.nack(message, false, true);
});
// Answered after the nack: a message is delayed for a minute when the broker closes.
while ((await channel.checkQueue("q")).messageCount > 0);
const health = await fetch(`${broker.httpUrl}/api/health`);
await health.text();
await broker.close();
console.log("closed");
