// One clear line for every way in which a port cannot be opened.

import { assertEquals } from "@std/assert";
import { formatAddress, ListenError } from "../../../src/runtime/listen_error.ts";

const ADDRESS = { host: "127.0.0.1", port: 5672 };

function messageFor(cause: unknown): string {
  return new ListenError("AMQP", ADDRESS, cause).message;
}

Deno.test("ListenError explains what the runtimes report in one line", () => {
  const prefix = "cannot listen on 127.0.0.1:5672 for AMQP: ";
  const cases: [unknown, string][] = [
    [{ code: "EADDRINUSE" }, "the port is in use"],
    [{ name: "AddrInUse" }, "the port is in use"],
    [{ code: "EACCES" }, "permission denied"],
    [{ name: "NotCapable" }, "permission denied (run Deno with --allow-net, or -A)"],
    [{ code: "EADDRNOTAVAIL" }, "the address does not belong to this machine"],
    [{ code: "ENOTFOUND" }, "the host name is unknown"],
    [new Error("strange\nstack"), "strange"],
    ["text", "text"],
  ];
  for (const [cause, expected] of cases) assertEquals(messageFor(cause), prefix + expected);
});

Deno.test("formatAddress() puts brackets around an IPv6 host", () => {
  assertEquals(formatAddress("::1", 5672), "[::1]:5672");
  assertEquals(formatAddress("localhost", 0), "localhost:0");
});
