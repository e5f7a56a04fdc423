// The composition root: what becomes of a node whose broker fails.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../src/broker/limits.ts";
import { DEFAULT_USER } from "../../src/broker/access/users.ts";
import { AssertionError } from "../../src/lib/assert.ts";
import { loadRuntime } from "../../src/runtime/load.ts";
import { SystemClock } from "../../src/runtime/system_clock.ts";
import { SystemLoop } from "../../src/runtime/system_loop.ts";
import { Server } from "../../src/server.ts";
import type { StorageOptions } from "../../src/storage.ts";

const ANY_PORT = { host: "127.0.0.1", port: 0 };

/** Connects and tells, as it happens, what comes and that it ended. */
function open(port: number): { greeted: Promise<string>; closed: Promise<string> } {
  const socket = connect(port, "127.0.0.1", () => socket.write("AMQP\x00\x00\x09\x01"));
  let text = "";
  const greeted = new Promise<string>((resolve) => {
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      resolve(text);
    });
  });
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  socket.on("error", () => {});
  return { greeted, closed };
}

interface Started {
  server: Server;
  failures: unknown[];
  lines: string[];
}

async function start(storage: StorageOptions | null): Promise<Started> {
  const failures: unknown[] = [];
  const lines: string[] = [];
  const server = await Server.start({
    runtime: await loadRuntime(),
    amqp: ANY_PORT,
    http: ANY_PORT,
    users: [DEFAULT_USER],
    limits: { ...DEFAULT_LIMITS },
    storage,
    clock: new SystemClock(),
    loop: new SystemLoop(),
    logger: { log: (level, message) => lines.push(`${level}: ${message}`) },
    watchesPeers: true,
    seed: 1,
    onFatal: (error) => failures.push(error),
  });
  return { server, failures, lines };
}

function breakIt(server: Server): void {
  try {
    server.engine.turn(() => {
      throw new AssertionError("planted");
    });
  } catch {
    // Whether the caller is told as well is the engine's business.
  }
}

Deno.test("a broken invariant of the broker ends the node without a word to its clients", async () => {
  const { server, failures, lines } = await start(null);
  const port = server.amqp.port;
  const client = open(port);
  const greeting = await client.greeted;
  assertStringIncludes(greeting, "Reprise");
  breakIt(server);
  assertEquals(await client.closed, greeting, "no connection.close");
  await server.stop();
  assertEquals(failures.map((failure) => (failure as Error).message), ["planted"]);
  assertEquals(lines, ["error: the broker failed and stops"]);
  assertEquals(await open(port).closed, "", "the port is closed");
});

Deno.test("a node that fails gives its data folder back as it is on the disk", async () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-server-"));
  const storage = { folder, isSynced: true, diskFreeBytesMin: 0 };
  const declare = (server: Server, name: string) => {
    const spec = { name, durable: true, exclusive: false, autoDelete: false, args: new Map() };
    server.broker.vhosts.get("/")!.declareQueue(spec, { name: "test" });
  };
  try {
    const first = await start(storage);
    first.server.engine.turn(() => declare(first.server, "whole"));
    try {
      // The turn in which it fails is not written.
      first.server.engine.turn(() => {
        declare(first.server, "half");
        throw new AssertionError("planted");
      });
    } catch {
      // As above.
    }
    assertEquals(first.failures.length, 1);
    const second = await start(storage);
    await first.server.stop();
    const queues = second.server.broker.vhosts.get("/")!.queues;
    assertEquals([...queues.keys()], ["whole"]);
    assertEquals(second.lines, ["info: recovered"]);
    await second.server.stop();
    assertEquals(readdirSync(folder).filter((name) => name.startsWith("LOCK")), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("a node writes a bounded number of lines of one kind, and says how many it left out", async () => {
  const { server, lines } = await start(null);
  for (let i = 0; i < 10_000; i++) server.broker.logger.log("info", "flood");
  await server.stop();
  const floods = lines.filter((line) => line === "info: flood").length;
  assertEquals([floods, lines.at(-1)], [100, "info: lines like one above were left out"]);
});
