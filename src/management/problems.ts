// Errors of the HTTP API as RabbitMQ's tools read them: `{ error, reason }` with the fitting
// status. A handler throws one, and app.ts answers with it. Any other exception is a bug and
// becomes a 500.

import type { Logger } from "../lib/logger.ts";

/** Statuses of a problem. */
export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 429 | 503;

/** A refused request. */
export class Problem extends Error {
  readonly status: ProblemStatus;
  /** The short, constant part; `message` is the reason. */
  readonly error: string;
  readonly headers: Readonly<Record<string, string>>;

  /** Creates a problem. */
  constructor(
    status: ProblemStatus,
    error: string,
    reason: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(reason);
    this.name = "Problem";
    this.status = status;
    this.error = error;
    this.headers = headers;
  }

  /** The answer to the client. */
  response(): Response {
    const body = { error: this.error, reason: this.message };
    return Response.json(body, { status: this.status, headers: this.headers });
  }
}

/** Enters an exception that is a bug, of the program and not of the request, into the log. */
export function logFailure(logger: Logger, error: unknown): void {
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  logger.log("error", "HTTP request failed", { error: text });
}

/** Returns a 404 in RabbitMQ's words. */
export function notFound(): Problem {
  return new Problem(404, "Object Not Found", "Not Found");
}

/** Returns a 400: the request itself is wrong. */
export function badRequest(reason: string): Problem {
  return new Problem(400, "bad_request", reason);
}

/** Returns a 401: nobody has logged in, or a user who may not use the API. */
export function notAuthorised(reason: string): Problem {
  const challenge = { "www-authenticate": 'Basic realm="Reprise Management"' };
  return new Problem(401, "not_authorised", reason, challenge);
}

/** Returns a 429: so many logins have failed that this one is not checked. */
export function tooManyLogins(): Problem {
  return new Problem(429, "too_many_requests", "Too many failed logins", { "retry-after": "5" });
}

/** Returns a 405: the resource exists and cannot be used in this way. */
export function methodNotAllowed(allowed: string): Problem {
  return new Problem(405, "method_not_allowed", "Method Not Allowed", { allow: allowed });
}

/** Returns a 503: the node is too busy. The same request may succeed later. */
export function tooBusy(reason: string): Problem {
  return new Problem(503, "too_busy", reason, { "retry-after": "1" });
}
