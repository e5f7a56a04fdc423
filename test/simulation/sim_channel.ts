// One channel of a simulated actor and what it remembers: deliveries to settle, confirms to come, what
// a transaction holds. It knows what each of its calls will do to the messages, tells the ledger first
// and the broker then, because the broker may answer within the call.

import * as M from "../../src/amqp/methods_gen.ts";
import type { Incoming } from "../support/amqp_client.ts";
import type { ClientChannel, PublishOptions } from "../support/client_channel.ts";
import { toMessage } from "../support/client_channel.ts";
import type { MemoryWire } from "../support/memory_wire.ts";
import type { Copy, Ledger } from "./ledger.ts";
import { BrokenPromise, HELD, OUT } from "./ledger.ts";
import type { Cause, QueuePlan } from "./plan.ts";

/** How messages are settled. */
export type Settlement = "ack" | "reject" | "nack" | "drop";

/** A publish that waits for its confirm or its commit. */
interface SentPublish {
  readonly copies: Copy[];
}

/** A settlement that waits for its commit. */
interface HeldSettlement {
  readonly tags: number[];
  readonly copies: Copy[];
  readonly how: Settlement;
}

/** What the channel is used for. */
export type Mode = "plain" | "confirm" | "tx";

/** An open channel. */
export class SimChannel {
  readonly channel: ClientChannel;
  readonly mode: Mode;
  readonly name: string;
  /** Deliveries not settled, by tag; tags rise. */
  readonly outstanding: Map<number, Copy> = new Map();
  readonly consumers: Map<string, { plan: QueuePlan; noAck: boolean }> = new Map();
  /** The broker has closed it, because a commit could be carried out only in part. */
  isEnded = false;
  readonly #ledger: Ledger;
  readonly #unconfirmed = new Map<number, SentPublish>();
  #publishCount = 0;
  #heldPublishes: SentPublish[] = [];
  /** Whether the commit under way has a publish that a full queue may refuse. */
  #mayBePartial = false;
  #heldSettlements: HeldSettlement[] = [];

  constructor(channel: ClientChannel, mode: Mode, name: string, ledger: Ledger) {
    this.channel = channel;
    this.mode = mode;
    this.name = name;
    this.#ledger = ledger;
    if (mode === "confirm") channel.confirmSelect();
    if (mode === "tx") channel.rpc(M.TX_SELECT, {}, M.TX_SELECT_OK);
  }

  /** Deliveries neither settled nor given back, those of the transaction included. */
  get unackedCount(): number {
    const held = this.#heldSettlements.reduce((sum, { tags }) => sum + tags.length, 0);
    return this.outstanding.size + held;
  }

  // --- what comes

  /** Something came for this channel. */
  arrived(incoming: Incoming): void {
    switch (incoming.key) {
      case M.BASIC_DELIVER:
        return this.#delivered(incoming);
      case M.BASIC_ACK:
      case M.BASIC_NACK:
        return this.#confirmed(incoming);
      case M.BASIC_CANCEL:
        this.consumers.delete(incoming.args.consumerTag);
        return;
      case M.BASIC_RETURN:
        return;
      default:
        throw new BrokenPromise(`${this.name} got ${incoming.name}`);
    }
  }

  #delivered(incoming: Incoming): void {
    const message = toMessage(incoming);
    const consumer = this.consumers.get(message.consumerTag);
    if (consumer === undefined) throw new BrokenPromise(`${this.name} has no such consumer`);
    const { plan, noAck } = consumer;
    const name = `${this.name} ${message.consumerTag}`;
    const copy = this.#ledger.received(message, { name, plan, noAck });
    if (!noAck) this.outstanding.set(message.tag, copy);
  }

  #confirmed({ key, args }: Incoming): void {
    const { deliveryTag, multiple } = args;
    const tags = [...this.#unconfirmed.keys()].filter((tag) =>
      tag === deliveryTag || (multiple && tag < deliveryTag)
    );
    if (tags.length === 0) throw new BrokenPromise(`${this.name}: confirm of ${deliveryTag}`);
    for (const tag of tags) {
      const { copies } = this.#unconfirmed.get(tag)!;
      this.#unconfirmed.delete(tag);
      if (key === M.BASIC_ACK) { for (const copy of copies) copy.isCertain = true; }
      // One queue of several may have refused it; the others keep it.
      else if (copies.length === 1) copies[0]!.isRefused = true;
    }
  }

  // --- what is sent

  /** Publishes; `copies` are what the ledger expects of it. */
  publish(key: string, body: string, copies: Copy[], options: PublishOptions): void {
    const wire = this.channel.client.wire as MemoryWire;
    const sent = { copies };
    if (this.mode === "confirm") this.#unconfirmed.set(++this.#publishCount, sent);
    if (this.mode === "tx") {
      for (const copy of copies) copy.state = HELD;
      this.#heldPublishes.push(sent);
    }
    this.channel.publish(key, body, options);
    if (this.mode === "plain" && wire.isIdle) this.#becomesCertain(sent);
  }

  // Without a confirm nobody says whether a full queue refused it.
  #becomesCertain({ copies }: SentPublish): void {
    for (const copy of copies) copy.isCertain = !copy.plan.refuses;
  }

  /** Starts a consumer. */
  consume(plan: QueuePlan, tag: string, noAck: boolean): void {
    // Deliveries may come within the call.
    this.consumers.set(tag, { plan, noAck });
    this.channel.consume(plan.name, { consumerTag: tag, noAck });
  }

  cancel(tag: string): void {
    this.channel.cancel(tag);
    this.consumers.delete(tag);
  }

  get(plan: QueuePlan, noAck: boolean): void {
    const message = this.channel.get(plan.name, noAck);
    if (message === null) return;
    const copy = this.#ledger.received(message, { name: `${this.name} get`, plan, noAck });
    if (!noAck) this.outstanding.set(message.tag, copy);
  }

  /** Settles one delivery, or all up to it. */
  settle(tag: number, how: Settlement, isMultiple: boolean): void {
    const multiple = isMultiple && how !== "reject" && how !== "drop";
    const tags = multiple ? [...this.outstanding.keys()].filter((one) => one <= tag) : [tag];
    const copies = tags.map((one) => this.outstanding.get(one)!);
    for (const one of tags) this.outstanding.delete(one);
    if (this.mode === "tx") this.#heldSettlements.push({ tags, copies, how });
    else this.#apply(copies, how);
    if (how === "ack") this.channel.ack(tag, multiple);
    else if (how === "nack") this.channel.nack(tag, true, multiple);
    else if (how === "reject") this.channel.reject(tag, true);
    else this.channel.nack(tag, false);
  }

  #apply(copies: Copy[], how: Settlement): void {
    for (const copy of copies) {
      if (copy.state !== OUT) continue;
      if (how === "ack") this.#ledger.acked(copy);
      else if (how === "drop") this.#ledger.rejected(copy);
      else this.#ledger.returned(copy, how);
    }
  }

  recover(): void {
    this.#returnOutstanding("recover");
    this.channel.rpc(M.BASIC_RECOVER, { requeue: true }, M.BASIC_RECOVER_OK);
  }

  commit(): void {
    const publishes = this.#heldPublishes;
    const settlements = this.#heldSettlements;
    this.#heldPublishes = [];
    this.#heldSettlements = [];
    for (const sent of publishes) {
      for (const copy of sent.copies) this.#ledger.committed(copy);
      this.#becomesCertain(sent);
    }
    for (const { copies, how } of settlements) this.#apply(copies, how);
    this.#mayBePartial = publishes.some((sent) => sent.copies.some((copy) => copy.plan.refuses));
    this.channel.send(M.TX_COMMIT);
    // An end that a full queue has caused is the answer.
    if (this.isEnded) return;
    this.channel.client.expect(M.TX_COMMIT_OK, this.channel.number);
    this.#mayBePartial = false;
  }

  /**
   * The broker closes the channel: whether that is its answer to a commit of which a full queue has
   * refused a part. The rest of the commit holds; what is outstanding goes back.
   */
  endsPartially(replyText: string): boolean {
    if (!this.#mayBePartial || !replyText.endsWith("partial tx completion")) return false;
    this.isEnded = true;
    this.ending();
    return true;
  }

  rollback(): void {
    this.#forgetPublishes();
    const held = this.#heldSettlements;
    this.#heldSettlements = [];
    this.channel.rpc(M.TX_ROLLBACK, {}, M.TX_ROLLBACK_OK);
    // The tags may be settled again; tags have to stay in order.
    const all = [...this.outstanding];
    for (const { tags, copies } of held) tags.forEach((tag, i) => all.push([tag, copies[i]!]));
    this.outstanding.clear();
    for (const [tag, copy] of all.sort(([a], [b]) => a - b)) this.outstanding.set(tag, copy);
  }

  // What was never committed may never be seen.
  #forgetPublishes(): void {
    for (const { copies } of this.#heldPublishes) for (const copy of copies) copy.isRefused = true;
    this.#heldPublishes = [];
  }

  /** The channel is about to end: everything it has goes back. */
  ending(): void {
    this.#forgetPublishes();
    for (const { copies } of this.#heldSettlements) {
      for (const copy of copies) if (copy.state === OUT) this.#ledger.returned(copy, "close");
    }
    this.#returnOutstanding("close");
  }

  #returnOutstanding(cause: Cause): void {
    for (const copy of this.outstanding.values()) {
      if (copy.state === OUT) this.#ledger.returned(copy, cause);
    }
    this.outstanding.clear();
  }
}
