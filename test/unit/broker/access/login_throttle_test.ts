// How many passwords may be guessed, by whom, and whom that does not slow down.

import { assert, assertEquals, assertLess, assertLessOrEqual } from "@std/assert";
import { LoginThrottle } from "../../../../src/broker/access/login_throttle.ts";
import { Users } from "../../../../src/broker/access/users.ts";

const HOUR_MS = 3_600_000;

function user(name: string) {
  return { name, password: "p", tags: [], loopbackOnly: false };
}

function throttleOf(names: string[] = ["a", "b"]) {
  const lines: unknown[] = [];
  const logger = {
    log: (_level: string, message: string, fields?: object) => void lines.push([message, fields]),
  };
  const throttle = new LoginThrottle(new Users(names.map(user)), logger);
  return { throttle, lines };
}

/** How many wrong passwords are looked at when they come without a pause for `forMs`. */
function guesses(
  throttle: LoginThrottle,
  forMs: number,
  next: (index: number) => { host: string; name: string },
): number {
  let looked = 0;
  for (let nowMs = 0, index = 0; nowMs < forMs; nowMs += 20) {
    for (let i = 0; i < 20; i++, index++) {
      const { host, name } = next(index);
      const { waitMs } = throttle.begin(host, name, nowMs);
      if (nowMs + waitMs < forMs) looked++;
    }
  }
  return looked;
}

Deno.test("LoginThrottle looks at five wrong passwords a second for a user at an address", () => {
  const { throttle } = throttleOf();
  const looked = guesses(throttle, 60_000, () => ({ host: "192.0.2.1", name: "a" }));
  assertLessOrEqual(looked, 20 + 60 * 5);
  assert(looked > 60 * 4);
});

Deno.test("LoginThrottle does not slow down another address, nor another user at the address", () => {
  const { throttle } = throttleOf();
  for (const [host, name] of [["192.0.2.2", "a"], ["192.0.2.1", "b"]] as const) {
    throttle.succeeded(throttle.begin(host, name, 0));
  }
  guesses(throttle, 10_000, () => ({ host: "192.0.2.1", name: "a" }));
  assertEquals(throttle.begin("192.0.2.2", "a", 10_000).waitMs, 0);
  assertEquals(throttle.begin("192.0.2.1", "b", 10_000).waitMs, 0);
  // Also where the password has never been right before, a single address does not empty a user's bucket.
  assertEquals(throttle.begin("192.0.2.3", "a", 10_000).waitMs, 0);
});

Deno.test("LoginThrottle lets who waits be looked at, and right passwords follow each other at once", () => {
  const { throttle } = throttleOf();
  for (let i = 0; i < 20; i++) assertEquals(throttle.begin("h", "a", 0).waitMs, 0);
  const waiting = throttle.begin("h", "a", 0);
  assertEquals(waiting.waitMs, 200);
  throttle.succeeded(waiting);
  assertEquals(throttle.begin("h", "a", 200).waitMs, 0);
});

Deno.test("LoginThrottle never slows down right passwords", () => {
  const { throttle } = throttleOf();
  for (let i = 0; i < 10_000; i++) {
    const attempt = throttle.begin("h", "a", 0);
    assertEquals(attempt.waitMs, 0);
    throttle.succeeded(attempt);
  }
});

Deno.test("LoginThrottle bounds who tries many users from one address", () => {
  const names = Array.from({ length: 1000 }, (_, index) => `u${index}`);
  const { throttle } = throttleOf(names);
  const looked = guesses(throttle, 60_000, (index) => ({ host: "h", name: names[index % 1000]! }));
  assertLessOrEqual(looked, 100 + 60 * 20);
  const { throttle: other } = throttleOf();
  const unknown = guesses(other, 60_000, (index) => ({ host: "h", name: `x${index}` }));
  assertLessOrEqual(unknown, 20 + 60 * 5);
});

Deno.test("LoginThrottle bounds who tries one user from many addresses", () => {
  const { throttle } = throttleOf();
  throttle.succeeded(throttle.begin("192.0.2.1", "a", 0));
  const host = (index: number) => `10.0.${(index >> 8) & 255}.${index & 255}`;
  const looked = guesses(throttle, 60_000, (index) => ({ host: host(index), name: "a" }));
  assertLessOrEqual(looked, 200 + 60 * 20);
  // Where the user has logged in before, that is no hindrance.
  assertEquals(throttle.begin("192.0.2.1", "a", 60_000).waitMs, 0);
  assertLess(0, throttle.begin("192.0.2.9", "a", 60_000).waitMs);
});

Deno.test("LoginThrottle forgets with time, and says once in a while that it refuses", () => {
  const { throttle, lines } = throttleOf();
  for (let i = 0; i < 1000; i++) throttle.begin("192.0.2.1", "a", 0);
  assertEquals(throttle.begin("192.0.2.1", "a", 0).waitMs, Infinity);
  assertEquals(lines, [[
    "too many failed logins: more are refused without a look",
    { address: "192.0.2.1", user: "a", refused: 1 },
  ]]);
  assertEquals(throttle.begin("192.0.2.1", "a", HOUR_MS).waitMs, 0);
});

Deno.test("LoginThrottle lets everybody in where time does not pass", () => {
  const { throttle } = throttleOf();
  throttle.isOn = false;
  for (let i = 0; i < 1000; i++) assertEquals(throttle.begin("h", "a", 0).waitMs, 0);
});
