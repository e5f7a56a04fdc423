// Tests of bindings and of the lists that exchanges route by.

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Binding, BindingList } from "../../../../src/broker/routing/binding.ts";
import { Exchange } from "../../../../src/broker/routing/exchange.ts";
import { FANOUT } from "../../../../src/broker/exchanges/fanout.ts";
import { AssertionError } from "../../../../src/lib/assert.ts";
import { args, exchangeSpec } from "../support/topology.ts";

function exchange(name: string, durable = false): Exchange {
  return new Exchange(exchangeSpec(name, { durable }), FANOUT);
}

function binding(key: string): Binding {
  const ends = { source: exchange("s"), destination: exchange("d"), type: "exchange" as const };
  return new Binding(ends, { routingKey: key, args: args() }, { key, propertiesKey: key });
}

Deno.test("BindingList holds what was added and not removed, in any order", () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(20)));
  fc.assert(
    fc.property(steps, (run) => {
      const list = new BindingList();
      const pool = Array.from({ length: 21 }, (_, i) => binding(String(i)));
      const model = new Set<Binding>();
      for (const [isAdd, at] of run) {
        const one = pool[at]!;
        if (isAdd === model.has(one)) continue;
        if (isAdd) list.add(one);
        else list.remove(one);
        if (isAdd) model.add(one);
        else model.delete(one);
        assertEquals(list.isEmpty, model.size === 0);
        assertEquals(new Set(list.items), model);
        for (const [index, item] of list.items.entries()) assertEquals(item.listIndex, index);
      }
    }),
    { seed: 11 },
  );
});

Deno.test("BindingList refuses a binding of another list", () => {
  const list = new BindingList();
  const one = binding("k");
  list.add(one);
  assertThrows(() => new BindingList().add(one), AssertionError);
  assertThrows(() => new BindingList().remove(one), AssertionError);
  list.remove(one);
  assertThrows(() => list.remove(one), AssertionError);
});

Deno.test("Binding.durable holds when both ends are durable", () => {
  const made = (source: boolean, destination: boolean) =>
    new Binding(
      {
        source: exchange("s", source),
        destination: exchange("d", destination),
        type: "exchange",
      },
      { routingKey: "", args: args() },
      { key: "", propertiesKey: "~" },
    );
  assert(made(true, true).durable);
  assertFalse(made(true, false).durable);
  assertFalse(made(false, true).durable);
  assertEquals(made(true, true).destination, "d");
  assertEquals(made(true, true).destinationType, "exchange");
});
