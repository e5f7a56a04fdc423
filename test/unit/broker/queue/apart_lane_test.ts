// Messages whose content header does not fit everybody, over random publishes, consumers, settlements and
// gets: each goes to whoever takes it and has room, in order, nobody waits for others' sake and nothing
// is lost.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { textField } from "../../../../src/amqp/field_value.ts";
import { writeProperties } from "../../../../src/amqp/properties.ts";
import type { Consumer } from "../../../../src/broker/queue/consumer.ts";
import { setAsideCount } from "../../../../src/broker/queue/put_apart.ts";
import { GET_MESSAGE, GET_TOO_LARGE } from "../../../../src/broker/queue/get_head.ts";
import type { Queue } from "../../../../src/broker/queue/queue.ts";
import { CAUSE_NACK } from "../../../../src/broker/retry/rules.ts";
import { ByteWriter } from "../../../../src/lib/byte_writer.ts";
import { IS_ON_DISK } from "../../../support/chosen_store.ts";
import { type Seen, TestBroker, TestChannel } from "../../../support/test_broker.ts";

const SIZES = [100, 200, 300, 400, 500, 600];

interface Step {
  readonly kind: "publish" | "consume" | "cancel" | "ack" | "requeue" | "get" | "expire";
  readonly which: number;
  readonly size: number;
  readonly prefetch: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom<Step["kind"]>(
      "publish",
      "publish",
      "publish",
      "consume",
      "cancel",
      "ack",
      "requeue",
      "get",
      "expire",
    ),
    which: fc.nat(20),
    size: fc.constantFrom(...SIZES),
    prefetch: fc.integer({ min: 1, max: 3 }),
  }),
  { maxLength: 60 },
);

/** Properties with which a content header has exactly so many bytes. */
function sized(headerBytes: number) {
  const filled = (count: number) => ({ headers: new Map([["f", textField("x".repeat(count))]]) });
  const out = new ByteWriter();
  writeProperties(out, filled(0));
  return filled(headerBytes - 12 - out.byteCount);
}

interface Client {
  readonly channel: TestChannel;
  readonly consumer: Consumer;
  readonly limit: number;
  /** What it has and has not settled. */
  out: Seen[];
}

class Model {
  readonly t = new TestBroker();
  readonly queue: Queue = this.t.queue("q", { "x-message-ttl": 1000 });
  readonly clients: Client[] = [];
  /** Sizes by number; a message is gone once it is settled or has expired. */
  readonly sizes: number[] = [];
  readonly ready = new Set<number>();

  step(step: Step): void {
    const client = this.clients[step.which % Math.max(1, this.clients.length)];
    if (step.kind === "publish") this.#publish(step.size);
    else if (step.kind === "consume") this.#consume(step.size, step.prefetch);
    else if (step.kind === "get") this.#get(step.size);
    else if (step.kind === "expire" && step.which === 0) this.#expire();
    else if (client !== undefined) this.#act(client, step.kind);
    this.#settle();
  }

  #publish(size: number): void {
    this.ready.add(this.sizes.length);
    this.t.publish("q", `${this.sizes.length}`, sized(size));
    this.sizes.push(size);
  }

  #consume(limit: number, prefetch: number): void {
    const channel = new TestChannel();
    const consumer = this.t.consume(this.queue, channel, { prefetch, headerBytesMax: limit });
    this.clients.push({ channel, consumer, limit, out: [] });
  }

  #act(client: Client, kind: Step["kind"]): void {
    if (kind === "cancel") {
      this.queue.cancel(client.consumer);
      this.clients.splice(this.clients.indexOf(client), 1);
      for (const { body } of client.out) this.ready.add(Number(body));
      client.channel.unacked.requeueAll(CAUSE_NACK, true);
    }
    const oldest = client.out[0];
    if (oldest === undefined) return;
    if (kind === "ack") client.channel.unacked.ack(oldest.tag, false);
    else if (kind === "requeue") {
      this.ready.add(Number(oldest.body));
      client.channel.unacked.reject(oldest.tag, false, true, CAUSE_NACK);
    } else return;
    client.out.shift();
  }

  #get(limit: number): void {
    const { delivery } = this.t.broker;
    const oldest = Math.min(...this.ready);
    const outcome = this.queue.get(delivery, limit);
    if (outcome === GET_TOO_LARGE) {
      assert(delivery.headerBytes > limit);
      return;
    }
    if (outcome !== GET_MESSAGE) return;
    const channel = new TestChannel();
    const { body } = channel.take(null, delivery, true);
    this.queue.settlement.discarded(delivery);
    assert(this.sizes[Number(body)]! <= limit);
    assert(Number(body) === oldest || this.sizes[oldest]! > limit);
    this.ready.delete(Number(body));
  }

  #expire(): void {
    this.t.turn(1000);
    this.ready.clear();
    // What is out may come back, and is over then.
    for (const client of this.clients) {
      this.#take(client);
      client.channel.unacked.ack(0, true);
      client.out = [];
    }
  }

  #settle(): void {
    this.t.turn();
    for (const client of this.clients) this.#take(client);
    assertEquals(this.queue.readyCount, this.ready.size);
    for (const number of this.ready) {
      const size = this.sizes[number]!;
      const free = this.clients.find(({ limit, consumer }) => {
        return size <= limit && consumer.unackedCount < consumer.prefetch;
      });
      assertEquals(free, undefined, `message ${number} of ${size} bytes is held up`);
    }
    const largest = Math.max(0, ...this.clients.map(({ limit }) => limit));
    const fitNobody = [...this.ready].filter((number) => this.sizes[number]! > largest).length;
    assert(setAsideCount(this.queue) <= fitNobody, "some that fit are counted as set aside");
    const hasRoom = this.clients.some(({ consumer: { unackedCount, prefetch } }) => {
      return unackedCount < prefetch;
    });
    if (hasRoom) assertEquals(setAsideCount(this.queue), fitNobody);
  }

  #take(client: Client): void {
    let last = -1;
    for (const seen of client.channel.drain()) {
      const number = Number(seen.body);
      assert(this.sizes[number]! <= client.limit, "a header does not fit its consumer");
      assert(this.ready.delete(number), "a message is delivered twice");
      assert(number > last, "messages are delivered out of order");
      last = number;
      client.out.push(seen);
    }
  }

  end(): void {
    while (this.clients.length > 0) this.#act(this.clients[0]!, "cancel");
    this.t.turn();
    const channel = new TestChannel();
    this.t.consume(this.queue, channel, { noAck: true });
    this.t.turn();
    const all = channel.drain().map(({ body }) => Number(body));
    assertEquals(all, [...this.ready].sort((a, b) => a - b));
    assertEquals([this.queue.readyCount, this.t.broker.apartBytes], [0, 0]);
    assertEquals(this.queue.ready.lane === this.queue.ready.apart, false);
  }
}

Deno.test("headers that do not fit everybody hold up nobody, over random steps", () => {
  fc.assert(
    fc.property(steps, (script) => {
      const model = new Model();
      for (const step of script) model.step(step);
      model.end();
    }),
    { numRuns: IS_ON_DISK ? 50 : 200 },
  );
});
