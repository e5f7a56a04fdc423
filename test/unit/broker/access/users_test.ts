// Logging in by name and password.

import { assertEquals, assertFalse } from "@std/assert";
import { DEFAULT_USER, isLoopback, Users } from "../../../../src/broker/access/users.ts";
import { encodeText } from "../../../../src/lib/text.ts";

const APP = { name: "app", password: "pässword", tags: ["monitoring"], loopbackOnly: false };

Deno.test("authenticate() gives the user for the right password as text and as bytes", () => {
  const users = new Users([DEFAULT_USER, APP]);
  const expected = { name: "app", tags: ["monitoring"], loopbackOnly: false };
  assertEquals(users.authenticate("app", "pässword"), expected);
  assertEquals(users.authenticate("app", encodeText("pässword")), expected);
  assertEquals(users.authenticate("guest", "guest")?.loopbackOnly, true);
});

Deno.test("authenticate() gives null for a wrong name, password or nothing at all", () => {
  const users = new Users([APP]);
  for (
    const [name, password] of [
      ["app", "password"],
      ["app", "pässwor"],
      ["app", "pässwords"],
      ["app", ""],
      ["App", "pässword"],
      ["", ""],
    ]
  ) {
    assertEquals(users.authenticate(name!, password!), null);
  }
  assertEquals(new Users([]).authenticate("guest", "guest"), null);
  assertEquals(new Users([{ ...APP, password: "" }]).authenticate("app", ""), null);
});

Deno.test("list() names everyone without a password", () => {
  assertEquals(new Users([DEFAULT_USER, APP]).list(), [
    { name: "guest", tags: ["administrator"], loopbackOnly: true },
    { name: "app", tags: ["monitoring"], loopbackOnly: false },
  ]);
});

Deno.test("isLoopback() knows this machine's own addresses and no others", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"]) {
    assertEquals(isLoopback(host), true, host);
  }
  for (const host of ["10.0.0.1", "127.example.org", "", "::2", "1127.0.0.1"]) {
    assertFalse(isLoopback(host), host);
  }
});
