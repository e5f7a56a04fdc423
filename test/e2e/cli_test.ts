// The executable door, as a program under the runtime that runs the tests: ready line, refusals,
// signals.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import amqplib from "amqplib";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { detectRuntime } from "../../src/runtime/detect.ts";
import { VERSION } from "../../src/version.ts";
import { Program, startBroker, withBroker } from "./support/program.ts";

/** Runs the program to an end it must come to by itself. */
async function refusal(args: string[], options = {}): Promise<string> {
  const { code, stdout, stderr } = await new Program(args, options).ended;
  assertEquals([code, stdout], [1, ""], stderr);
  assertMatch(stderr, /^reprise: [^\n]+\n$/, "one clear line");
  return stderr.slice("reprise: ".length, -1);
}

function portOf(url: string): string {
  return new URL(url).port;
}

Deno.test("main says when it is ready, answers on both ports and is quiet", async () => {
  const { program, url, httpUrl } = await startBroker(["--memory"]);
  const health = await fetch(`${httpUrl}/api/health`);
  assertEquals((await health.json()).status, "ok");
  const connection = await amqplib.connect(url);
  await connection.close();
  program.signal("SIGTERM");
  const { code, stdout, stderr } = await program.ended;
  assertEquals([code, stderr], [0, ""]);
  const lines = stdout.split("\n");
  assertEquals([lines.length, lines[1]], [2, ""]);
});

Deno.test("main prints its version and its help", async () => {
  const version = await new Program(["--version"]).ended;
  assertEquals(version, { code: 0, stdout: `reprise ${VERSION}\n`, stderr: "" });
  const help = await new Program(["--help", "--amqp-port", "x"]).ended;
  assertEquals([help.code, help.stderr], [0, ""]);
  for (const flag of ["--bind", "--amqp-port", "--http-port", "--memory", "--config"]) {
    assertStringIncludes(help.stdout, flag);
  }
});

Deno.test("main refuses unknown and wrong settings with exit code 1", async () => {
  assertMatch(await refusal(["--amqp-prot", "1"]), /^unknown flag --amqp-prot, did you mean /);
  const wrong = '--http-port: "x" is not accepted, use a whole number from 0 to 65535';
  assertEquals(await refusal(["--http-port", "x"]), wrong);
  const env = { REPRISE_AMQP_PROT: "1" };
  assertMatch(await refusal([], { env }), /^unknown environment variable REPRISE_AMQP_PROT, /);
  assertMatch(await refusal(["--config", "/nowhere.json"]), /^cannot read .* \/nowhere\.json: /);
});

Deno.test("main refuses a port that is in use with exit code 1", async () => {
  await withBroker(async ({ url, httpUrl }) => {
    const amqp = await refusal(["--memory", "--amqp-port", portOf(url), "--http-port", "0"]);
    assertEquals(amqp, `cannot listen on 127.0.0.1:${portOf(url)} for AMQP: the port is in use`);
    const http = await refusal(["--memory", "--amqp-port", "0", "--http-port", portOf(httpUrl)]);
    const where = `127.0.0.1:${portOf(httpUrl)}`;
    assertEquals(http, `cannot listen on ${where} for HTTP: the port is in use`);
  });
});

Deno.test("main refuses an address that is not this machine's", async () => {
  const text = await refusal([
    "--memory",
    "--bind",
    "192.0.2.1",
    "--amqp-port",
    "0",
    "--http-port",
    "0",
  ]);
  assertMatch(text, /^cannot listen on 192\.0\.2\.1:0 for AMQP: /);
});

Deno.test("main takes an IPv6 address, and refuses what is no address in one line", async () => {
  const at = (host: string) => ["--memory", "--bind", host, "--amqp-port", "0", "--http-port", "0"];
  assertMatch(await refusal(at("no/host")), /^cannot listen on no\/host:0 for AMQP: /);
  const addresses = Object.values(networkInterfaces()).flat();
  if (!addresses.some((one) => one?.address === "::1")) return;
  const { program, url, httpUrl } = await startBroker(at("::1"));
  assertMatch(url, /@\[::1\]:\d+/);
  assertEquals((await (await fetch(`${httpUrl}/api/health`)).json()).status, "ok");
  const socket = connect(Number(portOf(url)), "::1", () => socket.write("AMQP\x00\x00\x09\x01"));
  await new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.destroy();
  program.signal("SIGTERM");
  assertEquals(await program.ended.then(({ code }) => code), 0);
});

if (detectRuntime() === "deno") {
  Deno.test("main says which permission is missing", async () => {
    const noNet = { denoFlags: ["--allow-env", "--allow-read"] };
    const ports = ["--memory", "--amqp-port", "0", "--http-port", "0"];
    assertMatch(await refusal(ports, noNet), /permission denied \(run Deno with --allow-net/);
    assertMatch(
      await refusal(["--data-dir", "no"], noNet),
      /data folder no: NotCapable .*--allow-read, --allow-write/,
    );
    const noEnv = { denoFlags: ["--allow-net", "--allow-read"] };
    assertMatch(await refusal(ports, noEnv), /^cannot read the environment: .*--allow-env/);
  });
}

Deno.test("main takes flags over the environment and the environment over the file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-"));
  try {
    const path = join(folder, "config.json");
    const users = [{ name: "app", password: "secret", tags: ["administrator"] }];
    writeFileSync(path, JSON.stringify({ users, logLevel: "error", limits: { channelMax: 7 } }));
    const env = { REPRISE_CONFIG: path, REPRISE_CHANNEL_MAX: "5", REPRISE_LOG_LEVEL: "error" };
    await withBroker(
      async ({ url }) => {
        const connection = await amqplib.connect(url.replace("guest:guest", "app:secret"));
        const channels = [];
        for (let i = 0; i < 3; i++) channels.push(await connection.createChannel());
        let outcome = "";
        await connection.createChannel().catch((error: Error) => outcome = error.message);
        assertStringIncludes(outcome, "No channels left");
        await connection.close();
        const refused = await amqplib.connect(url).catch((error: Error) => error.message);
        assertMatch(String(refused), /ACCESS.REFUSED/);
      },
      ["--channel-max", "3"],
      { env },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`main closes connections with 320 and exits 0 on ${signal}`, async () => {
    const { program, url } = await startBroker();
    const connection = await amqplib.connect(url);
    const reason = new Promise<string>((resolve) => {
      connection.on("error", (error: Error) => resolve(error.message));
      connection.on("close", (error?: Error) => resolve(error?.message ?? "closed"));
    });
    const channel = await connection.createChannel();
    channel.on("error", () => {});
    await channel.assertQueue("q");
    program.signal(signal);
    assertMatch(await reason, /320 \(CONNECTION-FORCED\)/);
    const { code, stderr } = await program.ended;
    assertEquals([code, stderr], [0, ""]);
  });
}

Deno.test("main exits although a client does not answer", async () => {
  const { program, url } = await startBroker();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write("AMQP\x00\x00\x09\x01"));
  socket.on("error", () => {});
  const isClosed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.pause();
  program.signal("SIGTERM");
  // What started the broker may pass on what the whole process group has got already.
  program.signal("SIGINT");
  assertEquals((await program.ended).code, 0);
  socket.resume();
  await isClosed;
});
