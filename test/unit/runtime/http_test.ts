// The HTTP adapter of the runtime the tests run on.

import { assertEquals, assertRejects } from "@std/assert";
import { loadRuntime } from "../../../src/runtime/detect.ts";
import { ListenError } from "../../../src/runtime/listen_error.ts";

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
