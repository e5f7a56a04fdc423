// Micro-benchmark of routing: what one uncached route costs, by exchange type and number of bindings.
// Run it with any runtime; it prints one line per measurement: the best run, for a machine that does
// other work too, and the median. Cost should follow the matches, not the bindings. No sockets.

import { fieldTableFrom } from "../../src/amqp/field_json.ts";
import type { FieldTable } from "../../src/amqp/field_value.ts";
import { EMPTY_TABLE } from "../../src/amqp/field_value.ts";
import { Broker } from "../../src/broker/broker.ts";
import { DEFAULT_LIMITS } from "../../src/broker/limits.ts";
import type { RouteMessage } from "../../src/broker/routing/route.ts";
import { RouteResult } from "../../src/broker/routing/route.ts";
import { Users } from "../../src/broker/access/users.ts";
import type { VHost } from "../../src/broker/topology/vhost.ts";
import { SILENT_LOGGER } from "../../src/lib/logger.ts";
import { Prng } from "../../src/lib/prng.ts";
import { Scheduler } from "../../src/schedule/scheduler.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";

const RUNS = 15;
const MESSAGES = 100_000;
const OWNER = { name: "bench" };
const DECLARED = { durable: false, exclusive: false, autoDelete: false };

function makeVHost(): VHost {
  const prng = new Prng(1);
  const broker = new Broker({
    store: new MemoryStore(),
    scheduler: new Scheduler(),
    limits: DEFAULT_LIMITS,
    logger: SILENT_LOGGER,
    users: new Users([]),
    random: () => prng.nextFloat(),
  });
  return broker.vhosts.get("/")!;
}

interface Binding {
  key: string;
  args: FieldTable;
}

/** An exchange with one queue for each binding. */
function makeExchange(type: string, bindings: readonly Binding[]): VHost {
  const vhost = makeVHost();
  vhost.declareExchange({
    name: "x",
    type,
    durable: false,
    autoDelete: false,
    internal: false,
    args: EMPTY_TABLE,
  });
  bindings.forEach(({ key, args }, i) => {
    vhost.declareQueue({ ...DECLARED, name: `q${i}`, args: EMPTY_TABLE }, OWNER);
    vhost.bindQueue({ exchange: "x", queue: `q${i}`, routingKey: key, args }, OWNER);
  });
  return vhost;
}

class Message implements RouteMessage {
  routingKey = "";
  readonly extraKeys = null;
  readonly #headers: FieldTable | null;

  constructor(headers: FieldTable | null) {
    this.#headers = headers;
  }

  headers(): FieldTable | null {
    return this.#headers;
  }
}

function measure(name: string, vhost: VHost, keys: readonly string[], headers?: FieldTable): void {
  const exchange = vhost.exchanges.get("x")!;
  const message = new Message(headers ?? null);
  const result = new RouteResult();
  let matchCount = 0;
  const run = () => {
    matchCount = 0;
    for (let i = 0; i < MESSAGES; i++) {
      message.routingKey = keys[i % keys.length]!;
      result.reset();
      vhost.route(exchange, message, result);
      matchCount += result.count;
    }
  };
  const nsPerMessage: number[] = [];
  run();
  for (let i = 0; i < RUNS; i++) {
    const start = performance.now();
    run();
    nsPerMessage.push((performance.now() - start) * 1e6 / MESSAGES);
  }
  nsPerMessage.sort((a, b) => a - b);
  const best = nsPerMessage[0]!.toFixed(0);
  const median = nsPerMessage[RUNS >> 1]!.toFixed(0);
  const matches = (matchCount / MESSAGES).toFixed(1);
  console.log(`${name.padEnd(36)} best ${best} ns, median ${median} ns, ${matches} matches`);
}

function numbered(count: number, make: (i: number) => string): Binding[] {
  return Array.from({ length: count }, (_, i) => ({ key: make(i), args: EMPTY_TABLE }));
}

for (const count of [10, 1000, 100_000]) {
  const vhost = makeExchange("direct", numbered(count, (i) => `key.${i}`));
  measure(`direct, ${count} bindings`, vhost, ["key.1", "key.5", "key.9"]);
}
for (const count of [1, 10, 100]) {
  const vhost = makeExchange("fanout", numbered(count, () => ""));
  measure(`fanout, ${count} queues`, vhost, [""]);
}
const topicKeys = ["region.1.host.7.load", "region.3.host.2.disk", "region.9.host.9.load"];
for (const count of [10, 1000, 100_000]) {
  const vhost = makeExchange("topic", numbered(count, (i) => `region.${i}.*.*.load`));
  measure(`topic, ${count} bindings with *`, vhost, topicKeys);
}
for (const count of [10, 1000, 100_000]) {
  const vhost = makeExchange("topic", numbered(count, (i) => `#.host.${i}.#`));
  measure(`topic, ${count} bindings with #`, vhost, topicKeys);
}
const headers = fieldTableFrom({ kind: "order", id: 7, tenant: "acme" });
for (const count of [10, 100, 10_000]) {
  const all = Array.from({ length: count }, (_, i) => ({
    key: "",
    args: fieldTableFrom({ "x-match": "all", id: i, kind: "order" }),
  }));
  measure(`headers, ${count} bindings, all`, makeExchange("headers", all), [""], headers);
}
for (const count of [10, 100, 10_000]) {
  const any = Array.from({ length: count }, (_, i) => ({
    key: "",
    args: fieldTableFrom({ "x-match": "any", id: i, zone: i }),
  }));
  measure(`headers, ${count} bindings, any`, makeExchange("headers", any), [""], headers);
}
