// GET /api/health: says whether the node answers and admits clients, for load balancers and people
// without a login. It says nothing else about the node.

import { Hono } from "hono";
import type { ManagementContext, ManagementEnv } from "../context.ts";

/** The open health endpoint: 200, or 503 while new AMQP connections are refused. */
export function healthApi(context: ManagementContext): Hono<ManagementEnv> {
  return new Hono<ManagementEnv>().get("/", (c) => {
    const isBlocked = context.turn(() => context.broker.blockReason !== null);
    const isAccepting = context.acceptsConnections();
    const status = isAccepting ? "ok" : "refusing connections";
    const body = { status, publishers_blocked: isBlocked, accepts_connections: isAccepting };
    return c.json(body, isAccepting ? 200 : 503);
  });
}
