// Planted violations of the layer direction and of the ban on ambient things are caught, one of each
// kind, and what only looks like one is not. Runs under Deno alone: the rules are Deno lint rules.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { importProblem, ROOMS } from "../../../scripts/lint/layers.ts";
import plugin from "../../../scripts/lint_layers.ts";

function findings(path: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, path, source).map(({ id, message }) => `${id}: ${message}`);
}

function caught(path: string, source: string, rule: string, text: string): void {
  const found = findings(path, source);
  assertEquals(found.length, 1, `${path}: ${source}: ${JSON.stringify(found)}`);
  assertStringIncludes(found[0]!, rule);
  assertStringIncludes(found[0]!, text);
}

function clean(path: string, source: string): void {
  assertEquals(findings(path, source), [], `${path}: ${source}`);
}

const PURE = ["lib", "amqp", "session", "broker", "schedule", "store"].map((room) => `src/${room}`);
PURE.push("core-wasm");

Deno.test("layer-direction reports imports of every form against the direction", () => {
  const forms = [
    'import { a } from "../session/a.ts";',
    'import type { A } from "../session/a.ts";',
    'import "../session/a.ts";',
    'export { a } from "../session/a.ts";',
    'export * from "../session/a.ts";',
    'export type A = import("../session/a.ts").A;',
  ];
  for (const form of forms) caught("src/broker/x.ts", form, "layer-direction", "session");
  caught(
    "src/management/x.ts",
    'const a = await import("../session/a.ts");',
    "layer-direction",
    "session",
  );
});

Deno.test("layer-direction reports every forbidden pair of rooms and no allowed one", () => {
  const rooms = Object.keys(ROOMS).filter((name) => name !== "core-wasm");
  for (const from of rooms) {
    const path = from.endsWith(".ts") ? `src/${from}` : `src/${from}/deep/x.ts`;
    const up = from.endsWith(".ts") ? "./" : "../../";
    for (const to of rooms) {
      const target = to.endsWith(".ts") ? `${up}${to}` : `${up}${to}/y.ts`;
      const allowed = from === to || ROOMS[from]!.imports.includes(to);
      // The folders within a room have rules of their own.
      const isRefused = importProblem(path, target)?.includes("direction of the layers") ?? false;
      assertEquals(isRefused, !allowed, `${from} -> ${to}`);
    }
  }
});

Deno.test("the table of rooms has no cycle and nothing imports the doors", () => {
  const reach = (from: string, seen = new Set<string>()): Set<string> => {
    for (const to of ROOMS[from]?.imports ?? []) {
      if (!seen.has(to)) reach(to, seen.add(to));
    }
    return seen;
  };
  for (const room of Object.keys(ROOMS)) assert(!reach(room).has(room), `${room} reaches itself`);
  for (const [name, room] of Object.entries(ROOMS)) {
    assert(!room.imports.includes("main.ts") && !room.imports.includes("mod.ts"), name);
    const mayCompose = name === "mod.ts" || name === "main.ts";
    assertEquals(room.imports.includes("server.ts"), mayCompose, name);
  }
});

Deno.test("layer-direction keeps src inside src and packages where they belong", () => {
  caught("src/lib/x.ts", 'import "../../test/support/assert.ts";', "layer-direction", "outside");
  caught("src/lib/x.ts", 'import "../../scripts/tidy.ts";', "layer-direction", "outside");
  caught("src/store/x.ts", 'import "../../core-wasm/mod.ts";', "layer-direction", "core-wasm");
  clean("src/schedule/x.ts", 'import "../../core-wasm/mod.ts";');
  caught("src/novelty/x.ts", 'import "./y.ts";', "layer-direction", "table of rooms");
  caught("src/management/x.ts", 'import "node:fs";', "layer-direction", "node:fs");
  caught("src/server.ts", 'import "node:fs";', "layer-direction", "node:fs");
  caught("src/broker/x.ts", 'import "hono";', "layer-direction", "hono");
  caught("src/runtime/node/x.ts", 'import "honolulu";', "layer-direction", "honolulu");
  clean("src/management/x.ts", 'import "hono"; import "hono/basic-auth";');
  clean("src/runtime/node/x.ts", 'import "node:net"; import "@hono/node-server";');
  clean("test/unit/x_test.ts", 'import "node:fs"; import "../../src/server.ts";');
});

Deno.test("layer-direction reports node: imports in every pure room", () => {
  for (const room of PURE) {
    caught(`${room}/x.ts`, 'import "node:fs";', "layer-direction", "node:fs");
    caught(
      `${room}/x.ts`,
      'import type { Socket } from "node:net";',
      "layer-direction",
      "node:net",
    );
  }
});

Deno.test("layer-direction keeps the broker at the port of the store", () => {
  for (const file of ["file_store.ts", "log/commit_log.ts", "recovery/recovery.ts"]) {
    const source = `import type { A } from "../store/${file}";`;
    caught("src/broker/recovery.ts", source, "layer-direction", "only port.ts");
  }
  clean("src/broker/x.ts", 'import type { Store } from "../store/port.ts";');
});

const AMBIENT = [
  "Date.now();",
  'Date["now"]();',
  "new Date();",
  "Date();",
  "const D = Date;",
  "performance.now();",
  "Math.random();",
  'Math["random"]();',
  "const { random } = Math;",
  "crypto.getRandomValues(a);",
  "setTimeout(f, 1);",
  "setInterval(f, 1);",
  "clearTimeout(1);",
  "queueMicrotask(f);",
  "setImmediate(f);",
  "AbortSignal.timeout(1);",
  "console.log(1);",
  "Deno.cwd();",
  "Bun.file(a);",
  "process.exit(1);",
  'Buffer.from("a");',
  "globalThis.setTimeout;",
  "const a = { process };",
  "f(console);",
  "const log = console.error;",
  "let x: typeof setTimeout;",
  "export { process };",
  'fetch("a");',
  "self.close();",
  "new Intl.NumberFormat();",
  "new WeakRef(a);",
  'eval("1");',
  "import.meta.url;",
];

Deno.test("no-ambient reports each kind of ambient use in every pure room", () => {
  for (const room of PURE) {
    for (const source of AMBIENT) caught(`${room}/x.ts`, source, "no-ambient", "pure layer");
  }
});

Deno.test("no-ambient reports a dynamic import in a pure room", () => {
  caught("src/lib/x.ts", 'await import("./y.ts");', "no-ambient", "import()");
});

Deno.test("no-ambient reports a global even where a local of that name exists elsewhere", () => {
  const source = "function f(process: number) { return 1; } process.exit(1);";
  assertEquals(findings("src/lib/x.ts", source).length, 2);
});

Deno.test("no-ambient leaves members, keys, pure members and other rooms alone", () => {
  const sources = [
    "class A { process(): void {} console = 1; #fetch(): void {} }",
    "a.process(); a.console.log(1); a.setTimeout(1);",
    "const a = { process: 1, setTimeout: 2, fetch(): void {} };",
    "interface A { process(x: number): void; performance: number }",
    "Math.max(1, 2); Math.floor(1.5);",
    "new Date(5).toISOString(); Date.UTC(2020, 1); a instanceof Date;",
    "function f(d: Date): void {}",
    "const window = 3; f(window);",
    "function f({ scheduler }: A, self: B): void { scheduler.arm(self); }",
    "import { a as location } from './a.ts'; location.b;",
  ];
  for (const source of sources) clean("src/broker/x.ts", source);
  for (const source of AMBIENT) {
    clean("src/runtime/node/x.ts", source);
    clean("src/server.ts", source);
    clean("test/unit/x_test.ts", source);
  }
});

Deno.test("ask-the-broker reports every way from a session or from management to the store", () => {
  const sources = [
    "context.broker.store.commit(1);",
    "broker?.store;",
    'broker["store"];',
    "const { store } = broker;",
    "const { limits, store: kept } = broker;",
    "function f({ store }: Broker): void {}",
    "queue.broker.store = other;",
    'let store: Broker["store"];',
  ];
  for (const source of sources) {
    caught("src/session/handlers/x.ts", source, "ask-the-broker", "ask the broker");
    caught("src/management/api/x.ts", source, "ask-the-broker", "ask the broker");
    clean("src/broker/x.ts", source);
    clean("src/server.ts", source);
  }
  clean(
    "src/session/x.ts",
    "const store = 1; const made = { store: 2 }; f(store, made); a.stored;",
  );
});
