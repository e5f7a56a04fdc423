// Tests of routing through several exchanges: bindings between them, cycles, alternate exchanges, each
// queue once, and a breadth-first search over random topologies as model.

import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import { RouteResult } from "../../../../src/broker/routing/route.ts";
import type { VHost } from "../../../../src/broker/topology/vhost.ts";
import {
  ALICE,
  args,
  bindExchange,
  bindQueue,
  declareExchange,
  declareQueue,
  makeVHost,
  message,
  routed,
} from "../support/topology.ts";

Deno.test("route() follows bindings between exchanges and gives each queue once", () => {
  const vhost = makeVHost();
  for (const name of ["a", "b", "c"]) declareExchange(vhost, name, "fanout");
  for (const name of ["q1", "q2"]) declareQueue(vhost, name);
  bindExchange(vhost, "a", "b");
  bindExchange(vhost, "a", "c");
  bindQueue(vhost, "b", "q1");
  bindQueue(vhost, "c", "q1");
  bindQueue(vhost, "c", "q2");
  assertEquals(routed(vhost, "a", message("k")), ["q1", "q2"]);
});

Deno.test("route() ends in cycles of bindings between exchanges", () => {
  const vhost = makeVHost();
  for (const name of ["a", "b"]) declareExchange(vhost, name, "fanout");
  declareQueue(vhost, "q");
  bindExchange(vhost, "a", "a");
  bindExchange(vhost, "a", "b");
  bindExchange(vhost, "b", "a");
  bindQueue(vhost, "b", "q");
  assertEquals(routed(vhost, "a", message("k")), ["q"]);
  assertEquals(routed(vhost, "b", message("k")), ["q"]);
});

Deno.test("route() keeps the key on the way through exchanges of different types", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "entry", "topic");
  declareExchange(vhost, "exact", "direct");
  declareQueue(vhost, "q");
  bindExchange(vhost, "entry", "exact", "log.#");
  bindQueue(vhost, "exact", "q", { key: "log.error" });
  assertEquals(routed(vhost, "entry", message("log.error")), ["q"]);
  assertEquals(routed(vhost, "entry", message("log.debug")), []);
});

Deno.test("route() uses the alternate exchange only when nothing matched", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "spare", "fanout");
  declareExchange(vhost, "x", "direct", { args: args({ "alternate-exchange": "spare" }) });
  for (const name of ["q", "lost"]) declareQueue(vhost, name);
  bindQueue(vhost, "x", "q", { key: "k" });
  bindQueue(vhost, "spare", "lost");
  assertEquals(routed(vhost, "x", message("k")), ["q"]);
  assertEquals(routed(vhost, "x", message("other")), ["lost"]);
  // One of several keys is enough.
  assertEquals(routed(vhost, "x", message("other", { extraKeys: ["k"] })), ["q"]);
});

Deno.test("route() does not use the alternate when another exchange matched in vain", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "spare", "fanout");
  declareExchange(vhost, "dead-end", "fanout");
  declareExchange(vhost, "x", "fanout", { args: args({ "alternate-exchange": "spare" }) });
  declareQueue(vhost, "lost");
  bindQueue(vhost, "spare", "lost");
  bindExchange(vhost, "x", "dead-end");
  assertEquals(routed(vhost, "x", message("k")), []);
});

Deno.test("route() chains alternate exchanges and survives loops and missing ones", () => {
  const vhost = makeVHost();
  const alternate = (name: string) => ({ args: args({ "alternate-exchange": name }) });
  declareExchange(vhost, "a", "direct", alternate("b"));
  declareExchange(vhost, "b", "direct", alternate("c"));
  declareExchange(vhost, "c", "direct", alternate("a"));
  declareExchange(vhost, "self", "direct", alternate("self"));
  declareExchange(vhost, "astray", "direct", alternate("nowhere"));
  declareQueue(vhost, "q");
  bindQueue(vhost, "c", "q", { key: "k" });
  assertEquals(routed(vhost, "a", message("k")), ["q"]);
  assertEquals(routed(vhost, "a", message("none")), []);
  assertEquals(routed(vhost, "self", message("none")), []);
  assertEquals(routed(vhost, "astray", message("none")), []);
});

Deno.test("route() takes the default exchange as an alternate", () => {
  const vhost = makeVHost();
  declareExchange(vhost, "x", "direct", { args: args({ "alternate-exchange": "" }) });
  declareQueue(vhost, "q");
  assertEquals(routed(vhost, "x", message("q")), ["q"]);
});

Deno.test("route() appends to a result until it is reset", () => {
  const vhost = makeVHost();
  for (const name of ["q1", "q2"]) declareQueue(vhost, name);
  const result = new RouteResult();
  const exchange = vhost.exchanges.get("")!;
  vhost.route(exchange, message("q1"), result);
  vhost.route(exchange, message("q1"), result);
  vhost.route(exchange, message("q2"), result);
  assertEquals(result.count, 2);
  result.reset();
  assertEquals(result.count, 0);
  vhost.route(exchange, message("q1"), result);
  assertEquals(result.count, 1);
});

Deno.test("route() keeps two results apart that are filled in turns", () => {
  const vhost = makeVHost();
  for (const name of ["q1", "q2"]) declareQueue(vhost, name);
  const exchange = vhost.exchanges.get("")!;
  const [one, two] = [new RouteResult(), new RouteResult()];
  vhost.route(exchange, message("q1"), one);
  vhost.route(exchange, message("q1"), two);
  assertEquals([one.count, two.count], [1, 1]);
});

Deno.test("route() says whether its result may be cached", () => {
  const vhost = makeVHost();
  declareQueue(vhost, "q");
  declareExchange(vhost, "h", "headers");
  declareExchange(vhost, "x", "fanout");
  const result = new RouteResult();
  const isCacheable = (exchange: string, extraKeys?: string[]) => {
    result.reset();
    const routable = message("q", extraKeys === undefined ? {} : { extraKeys });
    vhost.route(vhost.exchanges.get(exchange)!, routable, result);
    return result.isCacheable;
  };
  assert(isCacheable(""));
  assert(isCacheable("x"));
  assertFalse(isCacheable("", ["other"]));
  assertFalse(isCacheable("h"));
  bindExchange(vhost, "x", "h");
  assertFalse(isCacheable("x"));
});

const QUEUES = 4;
const EXCHANGES = 5;
const KEYS = ["k", "l"];

interface Topology {
  types: ("direct" | "fanout")[];
  alternates: number[];
  exchangeBindings: [number, number, string][];
  queueBindings: [number, number, string][];
}

/** The model: a breadth-first search over the drawing. */
function reached(topology: Topology, start: number, keys: string[]): string[] {
  const { types, alternates, exchangeBindings, queueBindings } = topology;
  const queues = new Set<string>();
  const seen = new Set([start]);
  for (const at of seen) {
    const isMatch = ([from, , key]: [number, number, string]) =>
      from === at && (types[at] === "fanout" || keys.includes(key));
    const nextExchanges = exchangeBindings.filter(isMatch).map(([, to]) => to);
    const nextQueues = queueBindings.filter(isMatch).map(([, to]) => `q${to}`);
    nextExchanges.forEach((next) => seen.add(next));
    nextQueues.forEach((queue) => queues.add(queue));
    const isEmpty = nextExchanges.length + nextQueues.length === 0;
    if (isEmpty && alternates[at]! < EXCHANGES) seen.add(alternates[at]!);
  }
  return [...queues].sort();
}

function build(topology: Topology): VHost {
  const vhost = makeVHost();
  topology.types.forEach((type, i) => {
    const alternate = args({ "alternate-exchange": `x${topology.alternates[i]}` });
    declareExchange(vhost, `x${i}`, type, { args: alternate });
  });
  for (let i = 0; i < QUEUES; i++) declareQueue(vhost, `q${i}`);
  for (const [from, to, key] of topology.exchangeBindings) {
    bindExchange(vhost, `x${from}`, `x${to}`, key);
  }
  for (const [from, to, key] of topology.queueBindings) {
    bindQueue(vhost, `x${from}`, `q${to}`, { key });
  }
  return vhost;
}

const exchange = fc.nat(EXCHANGES - 1);
const topologies: fc.Arbitrary<Topology> = fc.record({
  types: fc.array(fc.constantFrom("direct" as const, "fanout" as const), {
    minLength: EXCHANGES,
    maxLength: EXCHANGES,
  }),
  // Numbers from EXCHANGES on name exchanges that do not exist.
  alternates: fc.array(fc.nat(EXCHANGES + 2), { minLength: EXCHANGES, maxLength: EXCHANGES }),
  exchangeBindings: fc.array(fc.tuple(exchange, exchange, fc.constantFrom(...KEYS)), {
    maxLength: 12,
  }),
  queueBindings: fc.array(fc.tuple(exchange, fc.nat(QUEUES - 1), fc.constantFrom(...KEYS)), {
    maxLength: 8,
  }),
});

Deno.test("route() agrees with a breadth-first search over random topologies", () => {
  const keySets = fc.subarray([...KEYS, "m"], { minLength: 1 });
  fc.assert(
    fc.property(topologies, exchange, keySets, (topology, start, keys) => {
      const vhost = build(topology);
      const [first, ...extraKeys] = keys;
      const routable = message(first!, extraKeys.length === 0 ? {} : { extraKeys });
      assertEquals(routed(vhost, `x${start}`, routable), reached(topology, start, keys));
    }),
    { seed: 15, numRuns: 500 },
  );
});

Deno.test("route() agrees with the search after exchanges and bindings went", () => {
  const removals = fc.array(fc.tuple(fc.boolean(), fc.nat(11)), { maxLength: 6 });
  fc.assert(
    fc.property(topologies, exchange, removals, (topology, start, removed) => {
      const vhost = build(topology);
      let { exchangeBindings, queueBindings } = topology;
      for (const [isQueue, at] of removed) {
        const gone = isQueue ? queueBindings[at] : exchangeBindings[at];
        if (gone === undefined) continue;
        const [from, to, routingKey] = gone;
        const isOther = (one: [number, number, string]) => String(one) !== String(gone);
        if (isQueue) {
          queueBindings = queueBindings.filter(isOther);
          const ends = { exchange: `x${from}`, queue: `q${to}` };
          vhost.unbindQueue({ ...ends, routingKey, args: args() }, ALICE);
        } else {
          exchangeBindings = exchangeBindings.filter(isOther);
          const ends = { source: `x${from}`, destination: `x${to}` };
          vhost.unbindExchange({ ...ends, routingKey, args: args() });
        }
      }
      const left = { ...topology, exchangeBindings, queueBindings };
      assertEquals(routed(vhost, `x${start}`, message("k")), reached(left, start, ["k"]));
    }),
    { seed: 16, numRuns: 300 },
  );
});
