// The HTTP adapter of the runtime the tests run on.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { connect, type Socket } from "node:net";
import { loadRuntime } from "../../../src/runtime/load.ts";
import { ListenError } from "../../../src/runtime/listen_error.ts";
import { StubRoom } from "../../support/stub_room.ts";

Deno.test("serve() hands over the request with its peer and returns the response", async () => {
  const { http } = await loadRuntime();
  const server = await http.serve({
    host: "127.0.0.1",
    port: 0,
    handler: async (request, peer) => {
      const { pathname } = new URL(request.url);
      const body = {
        method: request.method,
        pathname,
        peer: peer.host,
        text: await request.text(),
      };
      return Response.json(body, { status: 201 });
    },
  });
  try {
    const url = `http://127.0.0.1:${server.port}/a/%2F/b`;
    const response = await fetch(url, { method: "POST", body: "hello" });
    assertEquals(response.status, 201);
    const expected = { method: "POST", pathname: "/a/%2F/b", peer: "127.0.0.1", text: "hello" };
    assertEquals(await response.json(), expected);
  } finally {
    await server.close();
  }
});

Deno.test("serve() rejects with one clear line when the port is in use", async () => {
  const { http } = await loadRuntime();
  const options = { host: "127.0.0.1", port: 0, handler: () => new Response("") };
  const server = await http.serve(options);
  try {
    const again = http.serve({ ...options, port: server.port });
    const error = await assertRejects(() => again, ListenError);
    const address = `127.0.0.1:${server.port}`;
    assertEquals(error.message, `cannot listen on ${address} for HTTP: the port is in use`);
  } finally {
    await server.close();
  }
});

interface Asked {
  readonly client: Socket;
  /** The first of what came, or nothing if the connection ended before. */
  readonly text: string;
}

/** Asks over a connection that stays open, if it is let in. */
function ask(port: number): Promise<Asked> {
  return new Promise((resolve) => {
    const client = connect({ host: "127.0.0.1", port }, () => {
      client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    });
    client.on("error", () => {});
    client.once("data", (bytes) => resolve({ client, text: bytes.toString() }));
    client.once("close", () => resolve({ client, text: "" }));
  });
}

function closed(client: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (client.closed) return resolve();
    client.once("close", () => resolve());
    client.destroy();
  });
}

Deno.test("serve() refuses connections above its limit, and takes others when those are gone", async () => {
  const { http } = await loadRuntime();
  const server = await http.serve({
    host: "127.0.0.1",
    port: 0,
    handler: () => new Response("hi"),
    connectionCountMax: 2,
  });
  const first = await ask(server.port);
  const second = await ask(server.port);
  for (const { text } of [first, second]) assertStringIncludes(text, "200 OK");
  for (let i = 0; i < 20; i++) assertEquals((await ask(server.port)).text, "");
  await closed(first.client);
  let next = await ask(server.port);
  for (let i = 0; i < 10_000 && next.text === ""; i++) next = await ask(server.port);
  assertStringIncludes(next.text, "200 OK");
  await closed(next.client);
  await closed(second.client);
  await server.close();
});

Deno.test("serve() refuses connections for which there is no room, and gives back what it took", async () => {
  const { http } = await loadRuntime();
  const room = new StubRoom();
  const server = await http.serve({
    host: "127.0.0.1",
    port: 0,
    handler: () => new Response("hi"),
    room,
  });
  for (let i = 0; i < 20; i++) assertEquals((await ask(server.port)).text, "");
  room.isOpen = true;
  let asked = await ask(server.port);
  for (let i = 0; i < 10_000 && asked.text === ""; i++) asked = await ask(server.port);
  assertStringIncludes(asked.text, "200 OK");
  await closed(asked.client);
  await room.given;
  assertEquals(room.takenCount, 0);
  await server.close();
});

Deno.test("serve() breaks off the answer to a peer that is dropped, and writes nothing about it", async () => {
  const { http } = await loadRuntime();
  let pullCount = 0;
  let onCancelled = () => {};
  const cancelled = new Promise<void>((resolve) => onCancelled = resolve);
  let onReceived = () => {};
  const received = new Promise<void>((resolve) => onReceived = resolve);
  const server = await http.serve({
    host: "127.0.0.1",
    port: 0,
    handler: (_request, peer) => {
      const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        if (pullCount++ === 0) return controller.enqueue(new TextEncoder().encode("first"));
        await received;
        peer.drop();
      };
      return new Response(new ReadableStream({ pull, cancel: onCancelled }, { highWaterMark: 0 }));
    },
  });
  const printed: unknown[] = [];
  const { error, info } = console;
  console.error = console.info = (...values: unknown[]) => void printed.push(values);
  try {
    const text = await new Promise<string>((resolve) => {
      let text = "";
      const client = connect({ host: "127.0.0.1", port: server.port }, () => {
        client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
      });
      client.on("error", () => {});
      client.on("data", (bytes) => {
        text += bytes.toString();
        if (text.includes("first")) onReceived();
      });
      client.once("close", () => resolve(text));
    });
    assertStringIncludes(text, "first");
    // The last chunk has not come, so nobody takes this for the whole.
    assertEquals(text.includes("\r\n0\r\n"), false);
    await cancelled;
    await server.close();
    assertEquals(printed, []);
  } finally {
    console.error = error;
    console.info = info;
  }
});
