// The laws of the protocol that the fuzzer holds each broker to by itself.

import { assertEquals } from "@std/assert";
import * as M from "../../src/amqp/methods_gen.ts";
import { encodeText } from "../../src/lib/text.ts";
import type { Incoming } from "../support/amqp_client.ts";
import { View } from "./view.ts";

function incoming(key: number, args: object, body?: string): Incoming {
  const { name } = M.METHODS.get(key)!;
  const content = body === undefined ? {} : { properties: {}, body: encodeText(body) };
  return { channel: 1, key, name, args, ...content };
}

function delivery(deliveryTag: number, consumerTag: string): Incoming {
  const args = { deliveryTag, consumerTag, redelivered: false, exchange: "", routingKey: "q" };
  return incoming(M.BASIC_DELIVER, args, `m${deliveryTag}.`);
}

function consuming(): View {
  const view = new View();
  view.asked.set("c", { queue: "q", noAck: false });
  view.owed = 1;
  view.observe(incoming(M.BASIC_CONSUME_OK, { consumerTag: "c" }));
  return view;
}

function publishing(count: number): View {
  const view = new View();
  for (let tag = 1; tag <= count; tag++) view.unconfirmed.add(tag);
  return view;
}

Deno.test("View takes a multiple confirm as the answer to all tags that have none", () => {
  const view = publishing(4);
  view.observe(incoming(M.BASIC_NACK, { deliveryTag: 2, multiple: false }));
  view.observe(incoming(M.BASIC_ACK, { deliveryTag: 3, multiple: true }));
  assertEquals(view.isDone, false);
  view.observe(incoming(M.BASIC_ACK, { deliveryTag: 4, multiple: false }));
  assertEquals(view.isDone, true);
  const { confirms, broken } = view.takeSeen();
  assertEquals(confirms, { 1: "+", 2: "-", 3: "+", 4: "+" });
  assertEquals(broken, []);
});

Deno.test("View says when a confirm answers nothing", () => {
  const view = publishing(1);
  view.observe(incoming(M.BASIC_ACK, { deliveryTag: 1, multiple: false }));
  view.observe(incoming(M.BASIC_ACK, { deliveryTag: 1, multiple: false }));
  assertEquals(view.takeSeen().broken.length, 1);
});

Deno.test("View says when a delivery comes before consume-ok or after cancel-ok", () => {
  const view = consuming();
  view.observe(delivery(1, "c"));
  assertEquals(view.takeSeen().broken, []);
  view.observe(delivery(2, "nobody"));
  assertEquals(view.takeSeen().broken.length, 1);
  view.owed = 1;
  view.observe(incoming(M.BASIC_CANCEL_OK, { consumerTag: "c" }));
  view.observe(delivery(3, "c"));
  assertEquals(view.takeSeen().broken.length, 1);
});

Deno.test("View says when delivery tags do not rise", () => {
  const view = consuming();
  view.observe(delivery(2, "c"));
  view.observe(delivery(2, "c"));
  assertEquals(view.takeSeen().broken.length, 1);
});

Deno.test("View says when an answer comes that nobody asked for", () => {
  const view = new View();
  view.observe(incoming(M.BASIC_QOS_OK, {}));
  assertEquals(view.takeSeen().broken.length, 1);
});

Deno.test("View names deliveries by message, so that tags may differ", () => {
  const view = consuming();
  view.observe(delivery(5, "c"));
  assertEquals([...view.unsettled], [[5, { key: "c m5.", queue: "q", consumerTag: "c" }]]);
  assertEquals(view.takeSeen().deliveries, { c: ["m5.3B /q "] });
});
