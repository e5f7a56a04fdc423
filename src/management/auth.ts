// Basic authentication with the broker's users, for every path but the open ones. Puts the user into
// the request's context; what a user may see is decided by the handlers.

import { createMiddleware } from "hono/factory";
import { isLoopback, type User } from "../broker/users.ts";
import type { ManagementContext, ManagementEnv } from "./context.ts";
import { notAuthorised } from "./problems.ts";

/** Tags of users who may use the HTTP API at all. */
const ADMITTED_TAGS = ["administrator", "monitoring", "policymaker", "management"];

interface Login {
  readonly name: string;
  readonly password: Uint8Array;
}

/** Middleware that lets only users with a fitting tag through. */
export function basicAuth({ broker }: ManagementContext) {
  return createMiddleware<ManagementEnv>(async (c, next) => {
    const login = readLogin(c.req.header("authorization"));
    if (login === undefined) throw notAuthorised("Not_Authorized");
    const user = broker.users.authenticate(login.name, login.password);
    const refuse = (reason: string, told: string): never => {
      const fields = { peer: c.env.peerHost, user: login.name, reason };
      broker.logger.log("warn", "HTTP login refused", fields);
      throw notAuthorised(told);
    };
    if (user === null || !mayComeFrom(user, c.env.peerHost)) {
      return refuse(broker.users.refusalOf(login.name, isLoopback(c.env.peerHost)), "Login failed");
    }
    if (!user.tags.some((tag) => ADMITTED_TAGS.includes(tag))) {
      return refuse("the user has no tag for the HTTP API", "Not management user");
    }
    c.set("user", user);
    await next();
  });
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
