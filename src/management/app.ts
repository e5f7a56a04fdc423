// The HTTP API: mounts the resources under their paths, admits only users, and answers every error
// in one form. server.ts gives it the node and serves it. A new resource is one more file in api/
// and one line here.

import { Hono } from "hono";
import { healthApi } from "./api/health.ts";
import { overviewApi } from "./api/overview.ts";
import { queuesApi } from "./api/queues.ts";
import { basicAuth } from "./auth.ts";
import type { ManagementContext, ManagementEnv, RequestOrigin } from "./context.ts";
import { metricsText } from "./metrics.ts";
import { ListDesk } from "./list_desk.ts";
import { logFailure, methodNotAllowed, notFound, Problem } from "./problems.ts";
import { PROMETHEUS_TYPE } from "./prometheus_text.ts";
import { RateBook } from "./rates.ts";
import { Pace, Slices } from "./slices.ts";

/** The API of one node. */
export interface ManagementApp {
  /** Answers one request; never rejects. */
  fetch(request: Request, origin: RequestOrigin): Response | Promise<Response>;
  /** Takes a sample for the rates. To be called every `SAMPLE_INTERVAL_MS`. Never rejects. */
  sample(): Promise<void>;
}

/** Makes the API of a node. */
export function createApp(context: ManagementContext): ManagementApp {
  const rates = new RateBook(() => context.monotonicMs());
  const pause = (delayMs: number) => context.pause(delayMs);
  const slices = new Slices(pause);
  const desk = new ListDesk({ pause, nowMs: () => context.monotonicMs() });
  const app = new Hono<ManagementEnv>();
  app.onError((error) => answerError(error, context));
  app.notFound(() => notFound().response());
  app.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-cache");
    c.header("x-content-type-options", "nosniff");
  });
  app.route("/api/health", healthApi(context));
  app.use("/api/*", basicAuth(context));
  app.use("/metrics", basicAuth(context));
  // Each request is answered in a slice of its own, however many come at once.
  app.use(async (_c, next) => {
    await slices.next();
    await next();
  });
  app.route("/api/overview", overviewApi(context, rates));
  app.route("/api/queues", queuesApi({ context, slices, desk }, rates));
  app.get("/metrics", (c) => {
    c.header("content-type", PROMETHEUS_TYPE);
    return c.body(context.turn(() => metricsText(context)));
  });
  refuseOtherMethods(app);
  return {
    fetch: (request, origin) => app.fetch(request, origin),
    sample: () => rates.sample(new Pace(slices)),
  };
}

const READ_ONLY = ["/api/health", "/api/overview", "/api/queues", "/metrics"];
const READ_ONLY_BELOW = ["/api/queues/:vhost", "/api/queues/:vhost/:queue"];

function refuseOtherMethods(app: Hono<ManagementEnv>): void {
  const paths = [...READ_ONLY, ...READ_ONLY_BELOW, "/api/queues/:vhost/:queue/retries"];
  for (const path of paths) {
    app.all(path, () => {
      throw methodNotAllowed("GET, HEAD");
    });
  }
}

function answerError(error: Error, { broker }: ManagementContext): Response {
  if (error instanceof Problem) return error.response();
  logFailure(broker.logger, error);
  const body = { error: "internal_error", reason: "Internal Server Error" };
  return Response.json(body, { status: 500 });
}
