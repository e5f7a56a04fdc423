// HTTP connections that do nothing are closed, on every runtime. In real time, because the clocks are
// those of the runtime's HTTP server; the three wait side by side.

import { assertEquals } from "@std/assert";
import { connect } from "node:net";
import { withBroker } from "./support/program.ts";

/** Sends `text` and nothing more; resolves when the broker has closed the connection. */
function closedAfter(httpUrl: string, text: string): Promise<string> {
  const { hostname, port } = new URL(httpUrl);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = "";
    socket.on("data", (bytes) => answer += bytes);
    socket.on("error", () => {});
    socket.once("close", () => resolve(answer.split("\r\n")[0]!));
  });
}

Deno.test("HTTP connections that send nothing, half a request or no second one are closed", async () => {
  await withBroker(async ({ httpUrl }) => {
    const [, , third] = await Promise.all([
      closedAfter(httpUrl, ""),
      closedAfter(httpUrl, "GET /api/health HTTP/1.1\r\nhost: x\r\n"),
      closedAfter(httpUrl, "GET /api/health HTTP/1.1\r\nhost: x\r\n\r\n"),
    ]);
    assertEquals(third, "HTTP/1.1 200 OK");
  });
});
