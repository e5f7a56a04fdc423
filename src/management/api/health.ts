// GET /api/health: whether the node answers, for load balancers and people without a login. It says
// nothing else about the node.

import { Hono } from "hono";
import type { ManagementContext, ManagementEnv } from "../context.ts";

/** The open health endpoint. */
export function healthApi(context: ManagementContext): Hono<ManagementEnv> {
  return new Hono<ManagementEnv>().get("/", (c) => {
    const isBlocked = context.turn(() => context.broker.blockReason !== null);
    return c.json({ status: "ok", publishers_blocked: isBlocked });
  });
}
