// Who is let in, and how refusals look.

import { assertEquals } from "@std/assert";
import { TestManagement } from "../../support/management.ts";

const REFUSED = { error: "not_authorised", reason: "Login failed" };

Deno.test("basicAuth() answers 401 with a challenge without a login", async () => {
  const management = new TestManagement();
  for (const path of ["/api/overview", "/api/queues", "/api/queues/%2F/q", "/metrics"]) {
    const answer = await management.request(path, { login: null });
    assertEquals(answer.status, 401, path);
    assertEquals(answer.json, { error: "not_authorised", reason: "Not_Authorized" });
    const challenge = 'Basic realm="Reprise Management"';
    assertEquals(answer.headers.get("www-authenticate"), challenge);
  }
});

Deno.test("basicAuth() refuses wrong logins and headers that are none", async () => {
  const management = new TestManagement();
  for (const login of ["guest:wrong", "nobody:guest", "guest:", "guest"]) {
    const answer = await management.request("/api/overview", { login });
    assertEquals(answer.status, 401, login);
  }
  for (const authorization of ["Bearer x", "Basic", "Basic !!!", "Basic ="]) {
    const request = new Request("http://test/api/overview", { headers: { authorization } });
    const answer = await management.app.fetch(request, { peerHost: "127.0.0.1", dropPeer() {} });
    assertEquals(answer.status, 401, authorization);
  }
});

Deno.test("basicAuth() lets guest in from this machine only", async () => {
  const management = new TestManagement();
  assertEquals((await management.request("/api/overview", { peerHost: "::1" })).status, 200);
  const remote = await management.request("/api/overview", { peerHost: "10.0.0.1" });
  assertEquals([remote.status, remote.json], [401, REFUSED]);
});

Deno.test("basicAuth() takes a password with a colon and asks for a tag", async () => {
  const management = new TestManagement();
  const caller = { login: "monitor:m:1", peerHost: "10.0.0.1" };
  assertEquals((await management.request("/api/overview", caller)).status, 200);
  const untagged = await management.request("/api/overview", { login: "app:secret" });
  const expected = { error: "not_authorised", reason: "Not management user" };
  assertEquals([untagged.status, untagged.json], [401, expected]);
});

Deno.test("basicAuth() tells the log why a login was refused, without the password", async () => {
  const management = new TestManagement();
  const callers = [
    { login: "monitor:hunter2" },
    { login: "nobody:hunter2" },
    { login: "guest:guest", peerHost: "10.0.0.1" },
    { login: "app:secret" },
  ];
  for (const caller of callers) await management.request("/api/overview", caller);
  const reasons = [
    "the password is wrong",
    "there is no such user",
    "the user may log in from this machine only",
    "the user has no tag for the HTTP API",
  ];
  assertEquals(
    management.logs,
    callers.map(({ login, peerHost = "127.0.0.1" }, index) => ({
      level: "warn" as const,
      message: "HTTP login refused",
      fields: { peer: peerHost, user: login.split(":")[0]!, reason: reasons[index]! },
    })),
  );
});

Deno.test("basicAuth() lets in every tag of RabbitMQ but that of impersonators", async () => {
  const tags = ["administrator", "monitoring", "policymaker", "management", "impersonator"];
  const users = tags.map((tag) => ({ name: tag, password: "p", tags: [tag], loopbackOnly: false }));
  const management = new TestManagement(users);
  const statuses = tags.map(async (tag) =>
    (await management.request("/api/queues", { login: `${tag}:p` })).status
  );
  assertEquals(await Promise.all(statuses), [200, 200, 200, 200, 401]);
});

Deno.test("createApp() answers health to everybody", async () => {
  const answer = await new TestManagement().request("/api/health", { login: null });
  assertEquals(answer.status, 200);
  const { json } = answer;
  assertEquals(json, { status: "ok", publishers_blocked: false, accepts_connections: true });
});

Deno.test("health is 503 while new connections are refused", async () => {
  const management = new TestManagement();
  management.acceptsConnections = false;
  const { status, json } = await management.request("/api/health", { login: null });
  assertEquals([status, json.status, json.accepts_connections], [
    503,
    "refusing connections",
    false,
  ]);
});

Deno.test("createApp() answers 404 to unknown paths and 405 to other methods", async () => {
  const management = new TestManagement();
  const missing = await management.request("/api/nope");
  const expected = { error: "Object Not Found", reason: "Not Found" };
  assertEquals([missing.status, missing.json], [404, expected]);
  for (const path of ["/api/overview", "/api/queues", "/api/queues/%2F/q", "/metrics"]) {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const answer = await management.request(path, { method });
      assertEquals(answer.status, 405, `${method} ${path}`);
      assertEquals(answer.json.error, "method_not_allowed");
      assertEquals(answer.headers.get("allow"), "GET, HEAD");
    }
  }
  const head = await management.request("/api/overview", { method: "HEAD" });
  assertEquals([head.status, head.text], [200, ""]);
});

Deno.test("createApp() answers 500 without details when a handler breaks", async () => {
  const management = new TestManagement();
  Object.defineProperty(management, "residentBytes", {
    get: () => {
      throw new Error("secret detail");
    },
  });
  const answer = await management.request("/metrics");
  assertEquals(answer.status, 500);
  assertEquals(answer.json, { error: "internal_error", reason: "Internal Server Error" });
});

Deno.test("basicAuth() answers a wrong password late, and after too many not at all", async () => {
  const management = new TestManagement();
  const guess = () => management.request("/api/overview", { login: "guest:wrong" });
  await guess();
  assertEquals(management.pausesMs, [1000]);
  const answers = await Promise.all(Array.from({ length: 200 }, guess));
  const looked = answers.filter(({ status }) => status === 401).length;
  assertEquals(looked, 19 + 25);
  const refused = answers.find(({ status }) => status === 429)!;
  assertEquals(refused.json, { error: "too_many_requests", reason: "Too many failed logins" });
  assertEquals(refused.headers.get("retry-after"), "5");
  // Others do not wait.
  const before = management.pausesMs.length;
  await management.request("/api/overview", { login: "monitor:m:1" });
  assertEquals(management.pausesMs.length, before);
});
