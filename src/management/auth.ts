// Basic authentication with the broker's users, for every path but the open ones. It puts the user
// into the request's context. The handlers decide what a user may see.

import { createMiddleware } from "hono/factory";
import { REFUSAL_DELAY_MS } from "../broker/access/login_throttle.ts";
import { isLoopback, type User } from "../broker/access/users.ts";
import type { ManagementContext, ManagementEnv } from "./context.ts";
import { notAuthorised, tooManyLogins } from "./problems.ts";

/** Tags that admit a user to the HTTP API. */
const ADMITTED_TAGS = ["administrator", "monitoring", "policymaker", "management"];

interface Login {
  readonly name: string;
  readonly password: Uint8Array;
}

/** Middleware that lets only users with a fitting tag through. */
export function basicAuth(context: ManagementContext) {
  return createMiddleware<ManagementEnv>(async (c, next) => {
    const login = readLogin(c.req.header("authorization"));
    if (login === undefined) throw notAuthorised("Not_Authorized");
    const { peerHost } = c.env;
    const user = await authenticate(context, login, peerHost);
    if (user === null) throw notAuthorised("Login failed");
    if (!user.tags.some((tag) => ADMITTED_TAGS.includes(tag))) {
      logRefusal(context, login, { peerHost, reason: "the user has no tag for the HTTP API" });
      throw notAuthorised("Not management user");
    }
    c.set("user", user);
    await next();
  });
}

// Waits as long as the throttle of logins demands. A wrong password is answered late.
async function authenticate(
  context: ManagementContext,
  login: Login,
  peerHost: string,
): Promise<User | null> {
  const { broker: { logins, metrics, users }, nowMs, pause } = context;
  const { name, password } = login;
  const attempt = logins.begin(peerHost, name, nowMs());
  if (attempt.waitMs === Infinity) throw tooManyLogins();
  if (attempt.waitMs > 0) await pause(attempt.waitMs);
  const user = users.authenticate(name, password);
  if (user !== null && mayComeFrom(user, peerHost)) {
    logins.succeeded(attempt);
    return user;
  }
  metrics.authFailed++;
  logRefusal(context, login, { peerHost, reason: users.refusalOf(name, isLoopback(peerHost)) });
  if (logins.isOn) await pause(REFUSAL_DELAY_MS);
  return null;
}

function logRefusal(
  { broker }: ManagementContext,
  { name }: Login,
  { peerHost, reason }: { peerHost: string; reason: string },
): void {
  const fields = { peer: peerHost, user: name, reason };
  broker.logger.log("warn", "HTTP login refused", fields);
}

function mayComeFrom(user: User, peerHost: string): boolean {
  return !user.loopbackOnly || isLoopback(peerHost);
}

function readLogin(header: string | undefined): Login | undefined {
  const encoded = /^basic\s+([a-z0-9+/]+={0,2})\s*$/i.exec(header ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const bytes = decodeBase64(encoded);
  const colon = bytes?.indexOf(58) ?? -1;
  if (bytes === undefined || colon < 0) return undefined;
  const name = new TextDecoder().decode(bytes.subarray(0, colon));
  return { name, password: bytes.subarray(colon + 1) };
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
