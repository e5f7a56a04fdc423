// Who is taken for dead, with real sockets and real time, which nothing else can show: a consumer that
// stops reading is, and nobody is for the time in which the broker itself stood still.

import { assertEquals } from "@std/assert";
import amqplib from "amqplib";
import { connect, type Socket } from "node:net";
import { PROTOCOL_HEADER } from "../../src/amqp/frame.ts";
import * as M from "../../src/amqp/methods_gen.ts";
import { encodeText } from "../../src/lib/text.ts";
import { frame, joined, methodFrame } from "../support/amqp_client.ts";
import { withBroker } from "./support/program.ts";

const HEARTBEAT = frame(8, 0, new Uint8Array(0));
const ROUNDS_MAX = 600;

/** Logs in without waiting for answers, and opens channel 1. */
function logIn(url: string, heartbeat: number): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const response = encodeText("\0guest\0guest");
  const tuneOk = { channelMax: 2047, frameMax: 131_072, heartbeat };
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(joined([
        PROTOCOL_HEADER,
        methodFrame(M.CONNECTION_START_OK, 0, {
          clientProperties: new Map(),
          mechanism: "PLAIN",
          response,
          locale: "en_US",
        }),
        methodFrame(M.CONNECTION_TUNE_OK, 0, tuneOk),
        methodFrame(M.CONNECTION_OPEN, 0, { virtualHost: "/" }),
        methodFrame(M.CHANNEL_OPEN, 1),
      ]));
      socket.once("data", () => resolve(socket));
    });
    socket.on("error", () => {});
  });
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

Deno.test("messages of a consumer that stops reading come back after its heartbeat time", async () => {
  await withBroker(async ({ url }) => {
    const publisher = await amqplib.connect(url);
    const channel = await publisher.createConfirmChannel();
    await channel.assertQueue("q");
    for (let i = 0; i < 40; i++) channel.sendToQueue("q", Buffer.alloc(1_000_000));
    await channel.waitForConfirms();
    const frozen = await logIn(url, 1);
    frozen.pause();
    frozen.write(methodFrame(M.BASIC_CONSUME, 1, { queue: "q", consumerTag: "c" }));
    let readyCount = 40;
    const nextCount = async () => {
      await pause(50);
      readyCount = (await channel.checkQueue("q")).messageCount;
    };
    for (let i = 0; i < ROUNDS_MAX && readyCount === 40; i++) await nextCount();
    for (let i = 0; i < ROUNDS_MAX && readyCount < 40; i++) await nextCount();
    assertEquals(readyCount, 40);
    frozen.destroy();
    await publisher.close();
  });
});

Deno.test("a broker that stood still reads what has arrived before it gives anybody up", async () => {
  await withBroker(async ({ program, url }) => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => logIn(url, 1)));
    let endedCount = 0;
    for (const client of clients) {
      client.resume();
      client.once("close", () => endedCount++);
    }
    const beats = setInterval(() => {
      for (const client of clients) client.write(HEARTBEAT);
    }, 400);
    for (let i = 0; i < 2; i++) {
      program.signal("SIGSTOP");
      await pause(3000);
      program.signal("SIGCONT");
      await pause(500);
    }
    clearInterval(beats);
    assertEquals(endedCount, 0);
    const closed = clients.map((client) => new Promise((resolve) => client.once("close", resolve)));
    for (const client of clients) client.destroy();
    await Promise.all(closed);
  });
});
