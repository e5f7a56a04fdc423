// Publishing with confirms, returns, large bodies and many messages, with every client library.

import { assert, assertEquals } from "@std/assert";
import { bytesOf, type Received, type Returned, textOf } from "./support/client.ts";
import { Inbox } from "./support/inbox.ts";
import { scenario } from "./support/scenario.ts";

const LARGE_BYTES = 10 * 1024 * 1024;
const MANY = 10_000;

scenario("publish() is confirmed and keeps headers", async ({ channel }) => {
  await channel.declareQueue("q");
  const headers = { text: "käse", number: 7, flag: true };
  await channel.publish("", "q", bytesOf("hello"), { headers, persistent: true });
  const message = await channel.get("q");
  assertEquals(textOf(message!), "hello");
  const { text, number, flag } = message!.headers;
  assertEquals([text, number, flag], ["käse", 7, true]);
  assertEquals(message!.redelivered, false);
  channel.ack(message!);
});

scenario("publish() returns what is mandatory and cannot be routed", async ({ channel }) => {
  const returned = new Inbox<Returned>();
  channel.onReturn(returned.put);
  await channel.publish("", "nowhere", bytesOf("lost"), { mandatory: true });
  const message = await returned.take();
  assertEquals(textOf(message), "lost");
  assertEquals([message.replyCode, message.routingKey], [312, "nowhere"]);
  await channel.publish("", "nowhere", bytesOf("dropped"));
  assertEquals(returned.count, 0);
});

scenario("publish() carries an empty body", async ({ channel }) => {
  await channel.declareQueue("q");
  await channel.publish("", "q", new Uint8Array(0));
  const inbox = new Inbox<Received>();
  await channel.consume("q", inbox.put, { noAck: true });
  assertEquals((await inbox.take()).body.length, 0);
});

scenario("publish() and consume() carry a body of 10 MiB unharmed", async ({ channel }) => {
  const body = new Uint8Array(LARGE_BYTES);
  for (let i = 0; i < body.length; i += 997) body[i] = i & 0xff;
  await channel.declareQueue("large");
  const inbox = new Inbox<Received>();
  await channel.consume("large", inbox.put);
  for (let i = 0; i < 3; i++) await channel.publish("", "large", body);
  for (const message of await inbox.takeMany(3)) {
    assertEquals(message.body.length, LARGE_BYTES);
    assert(isEqual(message.body, body), "the body has changed");
    channel.ack(message);
  }
});

scenario("publish() of 10 000 messages arrive once each and in order", async ({ channel }) => {
  await channel.declareQueue("many");
  const inbox = new Inbox<Received>();
  await channel.prefetch(500);
  await channel.consume("many", (message) => {
    channel.ack(message);
    inbox.put(message);
  });
  const confirms: Promise<void>[] = [];
  for (let i = 0; i < MANY; i++) confirms.push(channel.publish("", "many", bytesOf(String(i))));
  await Promise.all(confirms);
  const messages = await inbox.takeMany(MANY);
  const wrong = messages.findIndex((message, i) => textOf(message) !== String(i));
  assertEquals(wrong, -1);
  // The last acknowledgements are on their way: an answered question comes after them.
  assertEquals((await channel.checkQueue("many")).messageCount, 0);
});

scenario("publish() is refused when a full queue refuses publishes", async ({ channel }) => {
  const args = { "x-max-length": 1, "x-overflow": "reject-publish" };
  await channel.declareQueue("full", { args });
  await channel.publish("", "full", bytesOf("first"));
  const outcome = await channel.publish("", "full", bytesOf("second"))
    .then(() => "confirmed", () => "nacked");
  assertEquals(outcome, "nacked");
  assertEquals((await channel.checkQueue("full")).messageCount, 1);
});

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
