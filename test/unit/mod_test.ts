// The library door: options, addresses, time and an end that leaves nothing open.

import {
  assertEquals,
  assertGreater,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { connect } from "node:net";
import { Broker, type BrokerOptions, ConfigError, ListenError } from "../../src/mod.ts";

async function withBroker(
  options: BrokerOptions,
  run: (broker: Broker) => Promise<void>,
): Promise<void> {
  const broker = await Broker.start({ amqp: { port: 0 }, ...options });
  try {
    await run(broker);
  } finally {
    await broker.close();
  }
}

/** What the server says first to a client that speaks AMQP, or that it has hung up. */
function greeting(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write("AMQP\x00\x00\x09\x01"));
    socket.once("data", (bytes) => {
      resolve(bytes.toString("latin1"));
      socket.destroy();
    });
    socket.once("error", () => resolve("refused"));
  });
}

Deno.test("start() opens a real port and says where", async () => {
  await withBroker({}, async (broker) => {
    assertMatch(broker.url, /^amqp:\/\/guest:guest@127\.0\.0\.1:\d+$/);
    assertEquals(broker.httpUrl, null);
    assertStringIncludes(await greeting(broker.url), "Reprise");
  });
});

Deno.test("start() serves HTTP when asked and puts the first user into the URL", async () => {
  const users = [{ name: "a b", password: "p@/", tags: ["monitoring"] }];
  await withBroker({ http: { port: 0 }, users }, async (broker) => {
    assertStringIncludes(broker.url, "amqp://a%20b:p%40%2F@127.0.0.1:");
    const health = await fetch(`${broker.httpUrl}/api/health`);
    const expected = { status: "ok", publishers_blocked: false, accepts_connections: true };
    assertEquals(await health.json(), expected);
    const headers = { authorization: `Basic ${btoa("a b:p@/")}` };
    const overview = await fetch(`${broker.httpUrl}/api/overview`, { headers });
    const { listeners } = await overview.json();
    const { port } = new URL(broker.url);
    assertEquals(listeners[0].port, Number(port));
    const refused = await fetch(`${broker.httpUrl}/api/overview`);
    assertEquals(refused.status, 401);
    await refused.body?.cancel();
  });
});

Deno.test("start() refuses options that cannot be used, with their names", async () => {
  const port = "use a whole number from 0 to 65535";
  const cases: [unknown, string][] = [
    [{ amqp: { port: -1 } }, `amqp.port: -1 is not accepted, ${port}`],
    [{ amqp: { port: "5672" } }, `amqp.port: "5672" is not accepted, ${port}`],
    [{ amqp: { port: 5n } }, `amqp.port: 5 is not accepted, ${port}`],
    [{ amqp: { prt: 0 } }, 'amqp: unknown option "prt", did you mean port? accepted: host port'],
    [{ amqp: 5672 }, "amqp: 5672 is not accepted, use an object with host, port"],
    [{ amqp: null }, "amqp: null is not accepted, use an object with host, port"],
    [{ http: { port: 70_000 } }, "http.port: 70000 is not accepted"],
    [{ http: true }, "http: true is not accepted, use an object with host, port"],
    [{ amqp: { host: "" } }, 'amqp.host: "" is not accepted'],
    [{ users: [] }, "users: [] is not accepted, use at least one user"],
    [{ users: [{ name: "", password: "x" }] }, 'users: user 1: name: "" is not accepted'],
    [{ limits: { channelMax: 0 } }, "limits.channelMax: 0 is not accepted"],
    [{ limits: { chanelMax: 1 } }, 'limits: unknown limit "chanelMax", did you mean channelMax?'],
    [{ limits: { messageBytesMax: "1X" } }, 'limits.messageBytesMax: "1X" is not accepted'],
    [{ dataDir: 5 }, "dataDir: 5 is not accepted, use the path of a folder"],
    [{ noSync: "yes" }, 'noSync: "yes" is not accepted, use true or false'],
    [{ maxMemory: "1" }, 'maxMemory: "1" is not accepted, use an amount of bytes from '],
    [{ clock: "sundial" }, 'clock: "sundial" is not accepted, use system, virtual'],
    [
      { clock: "virtual", startTime: "now" },
      'startTime: "now" is not accepted, use a whole number',
    ],
    [{ clock: "virtual", startTime: NaN }, "startTime: NaN is not accepted"],
    [{ startTime: 1 }, "startTime: only a virtual clock can be set"],
    [{ seed: "x" }, 'seed: "x" is not accepted, use a whole number'],
    [{ logger: {} }, "logger: an object is not accepted, use an object with a function log"],
    [{ logger: console.log }, "logger: a function is not accepted"],
    [{ onFailure: "exit" }, 'onFailure: "exit" is not accepted, use a function'],
    [{ port: 5672 }, 'unknown option "port", accepted: amqp http users'],
    [{ dataDirr: "x" }, 'unknown option "dataDirr", did you mean dataDir?'],
    [5672, "options: 5672 is not accepted, use an object with amqp, http"],
    [null, "options: null is not accepted, use an object with amqp, http"],
  ];
  for (const [options, text] of cases) {
    const start = () => Broker.start(options as BrokerOptions);
    const error = await assertRejects(start, ConfigError);
    assertStringIncludes(error.message, text);
  }
});

Deno.test("start() takes an option that is undefined as left out, and sizes as text", async () => {
  const options = {
    http: undefined,
    seed: undefined,
    amqp: { host: undefined, port: 0 },
    limits: { messageBytesMax: "20M" },
  };
  await withBroker(options as object, async (broker) => {
    assertEquals(broker.httpUrl, null);
    assertStringIncludes(await greeting(broker.url), "Reprise");
  });
});

Deno.test("start() rejects with one line when a port is in use and leaves the other free", async () => {
  await withBroker({ http: { port: 0 } }, async (broker) => {
    const amqp = { port: Number(new URL(broker.url).port) };
    const taken = await assertRejects(() => Broker.start({ amqp }), ListenError);
    assertMatch(taken.message, /^cannot listen on 127\.0\.0\.1:\d+ for AMQP: the port is in use$/);
    const http = { port: Number(new URL(broker.httpUrl!).port) };
    const error = await assertRejects(
      () => Broker.start({ amqp: { port: 0 }, http }),
      ListenError,
    );
    assertStringIncludes(error.message, "for HTTP: the port is in use");
  });
});

Deno.test("close() frees the ports and may be called again", async () => {
  const broker = await Broker.start({ amqp: { port: 0 }, http: { port: 0 } });
  const amqp = { port: Number(new URL(broker.url).port) };
  const http = { port: Number(new URL(broker.httpUrl!).port) };
  await Promise.all([broker.close(), broker.close()]);
  assertEquals(await greeting(broker.url), "refused");
  const again = await Broker.start({ amqp, http });
  await again.close();
});

Deno.test("a broker is disposed of like any resource", async () => {
  const broker = await Broker.start({ amqp: { port: 0 } });
  // The first releases of Node 20 do not have the symbol.
  if (typeof Symbol.asyncDispose !== "symbol") return await broker.close();
  await broker[Symbol.asyncDispose]();
  assertEquals(await greeting(broker.url), "refused");
});

Deno.test("advance() moves a virtual clock and no other", async () => {
  await withBroker({ clock: "virtual", startTime: 1_000_000 }, async (broker) => {
    assertEquals(broker.clock.now, 1_000_000);
    await broker.clock.advance(1500);
    assertEquals(broker.clock.now, 1_001_500);
    await assertRejects(() => broker.clock.advance(-1), RangeError);
  });
  await withBroker({}, async (broker) => {
    assertGreater(broker.clock.now, 1_600_000_000_000);
    await assertRejects(() => broker.clock.advance(1), Error, 'clock: "virtual"');
  });
});

Deno.test("advance() makes a handshake time out at its time", async () => {
  await withBroker({ clock: "virtual" }, async (broker) => {
    const { hostname, port } = new URL(broker.url);
    const socket = connect(Number(port), hostname);
    const isConnected = new Promise<void>((resolve) => socket.once("connect", () => resolve()));
    const isEnded = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {});
    socket.resume();
    await isConnected;
    assertStringIncludes(await greeting(broker.url), "Reprise");
    await broker.clock.advance(10_000);
    await isEnded;
  });
});
