// Tests of what the store is told about topology: durable things only, gone when they go.

import { assertEquals } from "@std/assert";
import type { FieldTable } from "../../../../src/amqp/field_value.ts";
import { tableJson } from "../../../../src/broker/topology/definitions.ts";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import {
  ALICE,
  args,
  bindExchange,
  bindQueue,
  declareExchange,
  DefinitionRecorder,
  makeBroker,
  queueSpec,
} from "../support/topology.ts";

function recorded(): { vhost: VHost; kinds: () => string[]; recorder: DefinitionRecorder } {
  const recorder = new DefinitionRecorder();
  const vhost = makeBroker({ entries: recorder }).vhosts.get("/")!;
  const kinds = () => [...recorder.definitions.keys()].map((key) => key.split(" ")[0]!).sort();
  return { vhost, kinds, recorder };
}

Deno.test("definitions are entered for durable exchanges, queues and bindings between them", () => {
  const { vhost, kinds, recorder } = recorded();
  declareExchange(vhost, "x", "topic", { durable: true, internal: true });
  const spec = queueSpec("q", { durable: true, args: args({ "x-max-length": 5 }) });
  const queue = vhost.declareQueue(spec, ALICE);
  bindQueue(vhost, "x", "q", { key: "a.#" });
  assertEquals(kinds(), ["binding", "exchange", "queue"]);
  assertEquals(recorder.definitions.get('exchange ["/","x"]'), {
    vhost: "/",
    name: "x",
    type: "topic",
    autoDelete: false,
    internal: true,
    arguments: [],
  });
  assertEquals(recorder.definitions.get('queue ["/","q"]'), {
    vhost: "/",
    id: queue.id,
    name: "q",
    autoDelete: false,
    arguments: [["x-max-length", "l", 5]],
  });
  const binding = [...recorder.definitions].find(([key]) => key.startsWith("binding"))![1];
  assertEquals(binding, {
    vhost: "/",
    source: "x",
    destination: "q",
    destinationType: "queue",
    routingKey: "a.#",
    arguments: [],
  });
});

Deno.test("definitions leave out what does not outlive a restart", () => {
  const { vhost, kinds } = recorded();
  declareExchange(vhost, "fleeting");
  declareExchange(vhost, "lasting", "fanout", { durable: true });
  vhost.declareQueue(queueSpec("fleeting"), ALICE);
  vhost.declareQueue(queueSpec("mine", { durable: true, exclusive: true }), ALICE);
  vhost.declareQueue(queueSpec("lasting", { durable: true }), ALICE);
  bindQueue(vhost, "fleeting", "lasting");
  bindQueue(vhost, "lasting", "fleeting");
  bindQueue(vhost, "lasting", "mine");
  bindExchange(vhost, "lasting", "fleeting");
  assertEquals(kinds(), ["exchange", "queue"]);
  bindExchange(vhost, "lasting", "amq.topic");
  assertEquals(kinds(), ["binding", "exchange", "queue"]);
});

Deno.test("definitions are undone in every way things can go", () => {
  const { vhost, kinds } = recorded();
  declareExchange(vhost, "x", "direct", { durable: true, autoDelete: true });
  vhost.declareQueue(queueSpec("q", { durable: true }), ALICE);
  bindQueue(vhost, "x", "q", { key: "k" });
  vhost.removeQueue(vhost.queues.get("q")!);
  assertEquals(kinds(), []);
  declareExchange(vhost, "y", "fanout", { durable: true });
  vhost.declareQueue(queueSpec("q", { durable: true }), ALICE);
  bindQueue(vhost, "y", "q");
  vhost.unbindQueue({ exchange: "y", queue: "q", routingKey: "", args: args() }, ALICE);
  assertEquals(kinds(), ["exchange", "queue"]);
  bindQueue(vhost, "y", "q");
  vhost.deleteExchange("y", false);
  assertEquals(kinds(), ["queue"]);
});

Deno.test("tableJson() keeps type tags and survives JSON", () => {
  const table: FieldTable = new Map([
    ["t", { tag: "t", value: true }],
    ["big", { tag: "l", value: 2n ** 60n }],
    ["nan", { tag: "d", value: NaN }],
    ["dec", { tag: "D", scale: 2, value: 314 }],
    ["bin", { tag: "S", value: new Uint8Array([255, 0]) }],
    ["nothing", { tag: "V" }],
    ["list", { tag: "A", value: [{ tag: "b", value: 1 }] }],
    ["sub", { tag: "F", value: new Map([["a", { tag: "S", value: "x" }]]) }],
  ]);
  const json = tableJson(table);
  assertEquals(JSON.parse(JSON.stringify(json)), [
    ["t", "t", true],
    ["big", "l", "1152921504606846976"],
    ["nan", "d", "NaN"],
    ["dec", "D", [2, 314]],
    ["bin", "S", { bytes: [255, 0] }],
    ["nothing", "V", null],
    ["list", "A", [["b", 1]]],
    ["sub", "F", [["a", "S", "x"]]],
  ]);
});
