// A broker with few descriptors, under more connections than it can have: those that are open are
// served on, new ones are refused, and it recovers. With the program, because the limit is the process's.

import { assertEquals, assertStringIncludes } from "@std/assert";
import amqplib from "amqplib";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { detectRuntime } from "../../src/runtime/detect.ts";
import { type ReadyBroker, startBroker } from "./support/program.ts";

const SHORT = "file descriptors are short: new connections are refused";
const OVER = "file descriptors are no longer short: new connections are accepted";
const FLOOD_COUNT = 400;
const TRIES_MAX = 300;

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** A broker that may have 200 descriptors. */
function startSmall(): Promise<ReadyBroker> {
  const flags = detectRuntime() === "deno" ? ["run", "--no-check", "-A"] : [];
  const limited = ["sh", "-c", 'ulimit -n 200; exec "$0" "$@"', process.execPath, ...flags];
  return startBroker([], { command: limited });
}

/** Opens a stream and says nothing. */
function idle(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", () => resolve(socket)).resume();
  });
}

async function health(httpUrl: string): Promise<number> {
  const response = await fetch(`${httpUrl}/api/health`, { headers: { connection: "close" } });
  await response.body?.cancel();
  return response.status;
}

/** Waits until the health check answers `status`. A connection is open before the broker accepts it. */
async function healthBecomes(httpUrl: string, status: number): Promise<void> {
  let last = await health(httpUrl);
  for (let i = 0; i < TRIES_MAX && last !== status; i++) {
    await pause(50);
    last = await health(httpUrl);
  }
  assertEquals(last, status);
}

Deno.test("a broker out of descriptors serves those it has, refuses others, and recovers", async () => {
  if (!existsSync("/proc/self/fd")) return;
  const { program, url, httpUrl } = await startSmall();
  const early = await amqplib.connect(url);
  const channel = await early.createConfirmChannel();
  await channel.assertQueue("q");
  const port = Number(new URL(url).port);
  const flood: Socket[] = [];
  for (let i = 0; i < FLOOD_COUNT; i++) flood.push(await idle(port));
  await healthBecomes(httpUrl, 503);
  channel.sendToQueue("q", Buffer.from("x"));
  await channel.waitForConfirms();
  assertEquals((await channel.get("q") as amqplib.GetMessage).content.toString(), "x");
  for (const socket of flood) socket.destroy();
  await healthBecomes(httpUrl, 200);
  let late: Awaited<ReturnType<typeof amqplib.connect>> | undefined;
  for (let i = 0; i < TRIES_MAX && late === undefined; i++) {
    late = await amqplib.connect(url).catch(() => undefined);
    if (late === undefined) await pause(50);
  }
  await late!.close();
  await early.close();
  program.signal("SIGTERM");
  const { code, stderr } = await program.ended;
  assertEquals(code, 0, stderr);
  for (const line of [SHORT, OVER]) {
    assertStringIncludes(stderr, line);
    assertEquals(stderr.split(line).length, 2, stderr);
  }
});

Deno.test("a broker out of descriptors can be stopped", async () => {
  if (!existsSync("/proc/self/fd")) return;
  const { program, url } = await startSmall();
  const port = Number(new URL(url).port);
  const flood: Socket[] = [];
  for (let i = 0; i < FLOOD_COUNT; i++) flood.push(await idle(port));
  program.signal("SIGTERM");
  const { code, stderr } = await program.ended;
  assertEquals(code, 0, stderr);
  for (const socket of flood) socket.destroy();
});
