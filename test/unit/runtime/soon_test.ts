// Being called again soon on the event loop of the runtime at hand, with a real socket beside it.

import { assertEquals, assertLess } from "@std/assert";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Soon } from "../../../src/runtime/soon.ts";
import { SystemLoop } from "../../../src/runtime/system_loop.ts";

const BUSY_MS = 2;
/** Longer than any pause that could be taken for a wait. */
const LONG_BUSY_MS = 110;
const ROUNDS_MAX = 2000;
/** Deno alone would let a byte wait for 61 rounds. */
const ROUNDS_PER_BYTE_MAX = 12;

interface Pair {
  server: Server;
  client: Socket;
  accepted: Socket;
}

async function openPair(): Promise<Pair> {
  const server = createServer({ noDelay: true });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const acceptance = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const { port } = server.address() as { port: number };
  const client = connect({ host: "127.0.0.1", port, noDelay: true });
  const accepted = await acceptance;
  return { server, client, accepted };
}

async function closePair({ server, client, accepted }: Pair): Promise<void> {
  const isClosed = new Promise((resolve) => server.close(resolve));
  client.destroy();
  accepted.destroy();
  await isClosed;
}

function work(busyMs = BUSY_MS): void {
  const startMs = performance.now();
  while (performance.now() - startMs < busyMs);
}

Deno.test("Soon.ask() lets sockets in although there is always more to do", async () => {
  await exchange({ byteCount: 10, roundsMax: ROUNDS_MAX, busyMs: BUSY_MS });
});

Deno.test("Soon.ask() lets sockets in although each round takes long", async () => {
  await exchange({ byteCount: 2, roundsMax: 40, busyMs: LONG_BUSY_MS });
});

/** Sends bytes one after the other to a process that is busy for `busyMs` in each round. */
async function exchange(
  { byteCount, roundsMax, busyMs }: { byteCount: number; roundsMax: number; busyMs: number },
): Promise<void> {
  const pair = await openPair();
  const soon = new Soon();
  // How many rounds one byte takes, each time.
  const waited: number[] = [];
  await new Promise<void>((resolve) => {
    let rounds = 0;
    let sentAt = 0;
    const send = () => {
      sentAt = rounds;
      pair.client.write("x");
    };
    pair.accepted.on("data", () => {
      waited.push(rounds - sentAt);
      if (waited.length < byteCount) send();
    });
    const step = () => {
      work(busyMs);
      if (waited.length === byteCount || ++rounds === roundsMax) return resolve();
      soon.ask(step);
    };
    send();
    soon.ask(step);
  });
  await closePair(pair);
  assertEquals(waited.length, byteCount);
  assertLess(Math.max(...waited), ROUNDS_PER_BYTE_MAX);
}

Deno.test("SystemLoop.afterInput() calls back when what had arrived before has been told", async () => {
  const pair = await openPair();
  const loop = new SystemLoop();
  for (let i = 0; i < 20; i++) {
    const order: string[] = [];
    const isTold = new Promise<void>((resolve) => {
      pair.accepted.once("data", () => {
        order.push("data");
        resolve();
      });
    });
    await new Promise<void>((resolve) => {
      pair.client.write("x", () => {
        // The byte is in the kernel now, and this pass of the loop may not have seen it.
        work();
        loop.afterInput(() => {
          order.push("after");
          resolve();
        });
      });
    });
    await isTold;
    assertEquals(order, ["data", "after"]);
  }
  loop.disarm();
  await closePair(pair);
});
