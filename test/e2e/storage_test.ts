// The data folder from outside, with the program under the runtime that runs the tests: what survives,
// who is refused, what is said about damage.

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import amqplib, { type GetMessage } from "amqplib";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withFolder } from "./support/folder.ts";
import { type Ended, Program, type ReadyBroker, startBroker } from "./support/program.ts";

const LOG = ["--log-level", "info"];

/** Starts a broker on a folder, runs something with it and ends it by a signal. */
async function running(
  folder: string,
  run: (broker: ReadyBroker) => Promise<void>,
  options: { args?: string[]; signal?: NodeJS.Signals } = {},
): Promise<Ended> {
  const { args = LOG, signal = "SIGTERM" } = options;
  const broker = await startBroker(["--data-dir", folder, ...args]);
  try {
    await run(broker);
  } finally {
    broker.program.signal(signal);
  }
  return await broker.program.ended;
}

async function withChannel(
  url: string,
  run: (channel: amqplib.ConfirmChannel) => Promise<void>,
): Promise<void> {
  const connection = await amqplib.connect(url);
  try {
    await run(await connection.createConfirmChannel());
  } finally {
    await connection.close();
  }
}

async function publish(channel: amqplib.ConfirmChannel, key: string, body: string): Promise<void> {
  channel.publish("jobs", key, Buffer.from(body), { persistent: true });
  await channel.waitForConfirms();
}

/** Definitions, three messages, one of them delayed and one dead. */
async function fill(channel: amqplib.ConfirmChannel): Promise<void> {
  await channel.assertExchange("jobs", "topic", { durable: true });
  await channel.assertQueue("dead");
  const args = {
    "x-delayed-retry-min": 3_600_000,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
  };
  await channel.assertQueue("work", { arguments: args });
  await channel.bindQueue("work", "jobs", "a.#");
  for (const body of ["one", "two", "three"]) await publish(channel, "a.b", body);
  const [first, second] = [await channel.get("work"), await channel.get("work")];
  channel.nack(first as GetMessage, false, true);
  channel.nack(second as GetMessage, false, false);
  await channel.checkQueue("work");
}

function check(folder: string): Promise<Ended> {
  return new Program(["check", "--data-dir", folder]).ended;
}

/** The log lines with a message. */
function logged(stderr: string, message: string): Record<string, unknown>[] {
  return stderr.trim().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
    .filter((line) => line.message === message);
}

/** Everything in a folder but the lock. */
function contentsOf(folder: string): [string, string][] {
  return readdirSync(folder).filter((name) => !name.startsWith("LOCK")).sort()
    .map((name) => [name, readFileSync(join(folder, name), "latin1")]);
}

/** Turns over a bit of the first `text` in a data file; its name. */
function flip(folder: string, text: string): string {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const bytes = readFileSync(path);
    const at = bytes.indexOf(text);
    if (at < 0) continue;
    bytes[at]! ^= 4;
    writeFileSync(path, bytes);
    return name;
  }
  throw new Error(`no file holds ${text}`);
}

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  Deno.test(`main brings back everything durable after ${signal}`, async () => {
    await withFolder(async (folder) => {
      const first = await running(folder, ({ url }) => withChannel(url, fill), { signal });
      assertEquals(first.code, signal === "SIGTERM" ? 0 : null);
      const whole = await check(folder);
      assertEquals([whole.code, whole.stderr], [0, ""]);
      const lines = whole.stdout.split("\n");
      const work = 'queue "work" in "/": ready 1, delayed 1, out 0, dead-lettering 0, body bytes 8';
      for (
        const line of [work, "exchanges 1, queues 2, bindings 1", "messages checked: 3", "whole"]
      ) {
        assertEquals(lines.includes(line), true, whole.stdout);
      }
      const second = await running(folder, async ({ url, httpUrl }) => {
        await withChannel(url, async (channel) => {
          await publish(channel, "a.c", "four");
          assertEquals((await channel.checkQueue("work")).messageCount, 2);
          const dead = await channel.get("dead") as GetMessage;
          assertEquals(dead.content.toString(), "two");
        });
        const headers = { authorization: `Basic ${btoa("guest:guest")}` };
        const response = await fetch(`${httpUrl}/api/queues/%2F/work`, { headers });
        const { delayed_retry: retry } = await response.json();
        assertEquals(retry.messages_delayed, 1);
        // An hour was left of which the restart has taken little.
        assertMatch(String(retry.next_due), /./);
      });
      const [recovered] = logged(second.stderr, "recovered");
      assertEquals([recovered!["queues"], recovered!["ready"], recovered!["delayed"]], [2, 2, 1]);
      assertEquals(typeof recovered!["milliseconds"], "number");
      assertEquals(second.code, 0);
    });
  });
}

Deno.test("main keeps its data in reprise-data of the working directory by default", async () => {
  await withFolder(async (folder) => {
    const { program } = await startBroker([], { cwd: folder });
    assertEquals(existsSync(join(folder, "reprise-data", "MANIFEST")), true);
    program.signal("SIGTERM");
    assertEquals((await program.ended).code, 0);
    assertEquals(
      readdirSync(join(folder, "reprise-data")).some((name) => name.startsWith("LOCK")),
      false,
    );
  });
});

Deno.test("main refuses a folder that a broker uses, and so does check", async () => {
  await withFolder(async (folder) => {
    await running(folder, async ({ url }) => {
      const before = contentsOf(folder);
      const ports = ["--amqp-port", "0", "--http-port", "0"];
      const second = await new Program(["--data-dir", folder, ...ports]).ended;
      assertEquals([second.code, second.stdout], [1, ""]);
      assertMatch(second.stderr, /^reprise: the data folder \S+ is in use by process \d+\n$/);
      const checked = await check(folder);
      assertEquals([checked.code, checked.stdout], [1, ""]);
      assertMatch(
        checked.stderr,
        /^reprise: the data folder \S+ is in use by process \d+: stop it/,
      );
      assertEquals(contentsOf(folder), before);
      await withChannel(url, fill);
    });
  });
});

Deno.test("main refuses a newer format and leaves the folder as it is", async () => {
  await withFolder(async (folder) => {
    await running(folder, ({ url }) => withChannel(url, fill));
    const manifest = join(folder, "MANIFEST");
    const newer = readFileSync(manifest, "utf8").replace(/"format":\d+/, '"format":9');
    writeFileSync(manifest, newer);
    const before = contentsOf(folder);
    const ports = ["--amqp-port", "0", "--http-port", "0"];
    for (const args of [["--data-dir", folder, ...ports], ["check", "--data-dir", folder]]) {
      const { code, stdout, stderr } = await new Program(args).ended;
      assertEquals([code, stdout], [1, ""]);
      assertMatch(
        stderr,
        /^reprise: [^\n]+ has format 9, this program reads formats 2 to 3: [^\n]+\n$/,
      );
    }
    assertEquals(contentsOf(folder), before);
  });
});

Deno.test("main reports damage with file and position and serves the rest", async () => {
  await withFolder(async (folder) => {
    await running(folder, ({ url }) => withChannel(url, fill));
    await running(
      folder,
      ({ url }) => withChannel(url, (channel) => publish(channel, "a.d", "last")),
    );
    const file = flip(folder, "two");
    const checked = await check(folder);
    assertEquals(checked.code, 1);
    assertMatch(checked.stdout, new RegExp(`^damage: ${file} at byte \\d+: `, "m"));
    assertMatch(checked.stdout, /^damaged: \d+ places?$/m);
    const { code, stderr } = await running(folder, async ({ url }) => {
      await withChannel(url, async (channel) => {
        await publish(channel, "a.e", "new");
        assertEquals((await channel.checkQueue("work")).messageCount > 0, true);
      });
    });
    const [damage] = logged(stderr, "damage in the data folder");
    assertEquals([code, damage!["file"]], [0, file]);
    assertEquals(typeof damage!["offset"], "number");
  });
});

Deno.test("main says that it does not sync, and tells what its folder takes", async () => {
  await withFolder(async (folder) => {
    const args = ["--no-sync", "--disk-free-min", "1M"];
    const { code, stderr } = await running(folder, async ({ url, httpUrl }) => {
      await withChannel(url, fill);
      const headers = { authorization: `Basic ${btoa("guest:guest")}` };
      const metrics = await (await fetch(`${httpUrl}/metrics`, { headers })).text();
      assertMatch(metrics, /^reprise_store_bytes\{kind="log"\} [1-9]\d*$/m);
      assertMatch(metrics, /^reprise_store_files\{kind="snapshot"\} 0$/m);
      assertMatch(metrics, /^rabbitmq_disk_space_available_bytes [1-9]\d*$/m);
      assertMatch(metrics, /^reprise_store_sync_seconds_count \d+$/m);
      const overview = await (await fetch(`${httpUrl}/api/overview`, { headers })).json();
      assertEquals([overview.storage.synced, overview.storage.disk_free_limit], [false, 1_048_576]);
    }, { args });
    assertEquals(code, 0);
    assertStringIncludes(stderr, "messages are not synced");
  });
});

Deno.test("main refuses a data folder that cannot be one", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const ports = ["--amqp-port", "0", "--http-port", "0"];
    const { code, stderr } = await new Program(["--data-dir", file, ...ports]).ended;
    assertEquals(code, 1);
    assertMatch(stderr, /^reprise: cannot use the data folder \S+: ENOTDIR\n$/);
    const missing = await check(join(folder, "nowhere"));
    assertEquals([missing.code, missing.stdout], [1, ""]);
    assertMatch(missing.stderr, /^reprise: \S+nowhere: no such folder\n$/);
    assertEquals(existsSync(join(folder, "nowhere")), false);
  });
});

Deno.test("a data folder that is removed under a broker is noticed, and nothing is confirmed", async () => {
  await withFolder(async (folder) => {
    const data = join(folder, "data");
    const { code, stderr } = await running(data, async ({ url }) => {
      await withChannel(url, async (channel) => {
        await channel.assertQueue("work");
        channel.sendToQueue("work", Buffer.from("before"), { persistent: true });
        await channel.waitForConfirms();
        rmSync(data, { recursive: true });
        channel.sendToQueue("work", Buffer.from("after"), { persistent: true });
        await assertRejects(() => channel.waitForConfirms());
        const message = await channel.get("work");
        assertEquals(message && message.content.toString(), "before");
      });
    });
    assertStringIncludes(stderr, "somebody has removed the data folder");
    assertEquals(code, 1);
  });
});
