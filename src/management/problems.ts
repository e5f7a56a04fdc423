// Errors of the HTTP API as RabbitMQ's tools read them: `{ error, reason }` with the fitting status.
// Handlers throw one, app.ts answers with it; what is thrown otherwise is a bug and becomes a 500.

/** Statuses that are answered with a problem. */
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

/** There is no such thing; RabbitMQ's words. */
export function notFound(): Problem {
  return new Problem(404, "Object Not Found", "Not Found");
}

/** The request itself is wrong. */
export function badRequest(reason: string): Problem {
  return new Problem(400, "bad_request", reason);
}

/** Nobody has logged in, or nobody who may. */
export function notAuthorised(reason: string): Problem {
  const challenge = { "www-authenticate": 'Basic realm="Reprise Management"' };
  return new Problem(401, "not_authorised", reason, challenge);
}

/** So many logins failed that this one is not looked at. */
export function tooManyLogins(): Problem {
  return new Problem(429, "too_many_requests", "Too many failed logins", { "retry-after": "5" });
}

/** The thing is there and cannot be used that way. */
export function methodNotAllowed(allowed: string): Problem {
  return new Problem(405, "method_not_allowed", "Method Not Allowed", { allow: allowed });
}

/** The node has enough to do; the same request may succeed later. */
export function tooBusy(reason: string): Problem {
  return new Problem(503, "too_busy", reason, { "retry-after": "1" });
}
