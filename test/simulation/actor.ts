// One client of a simulated run: connects, opens channels, publishes, consumes, settles, misbehaves and
// goes away, as its random numbers say. A client that does not read, or is not read, does nothing that
// it could not be sure of.

import * as M from "../../src/amqp/methods_gen.ts";
import type { Prng } from "../../src/lib/prng.ts";
import type { Incoming } from "../support/amqp_client.ts";
import type { MemoryWire } from "../support/memory_wire.ts";
import type { TestNode } from "../support/test_node.ts";
import { BrokenPromise } from "./ledger.ts";
import type { Ledger } from "./ledger.ts";
import { breakChannel, breakConnection } from "./mischief.ts";
import type { QueuePlan } from "./plan.ts";
import { SimChannel } from "./sim_channel.ts";
import type { Mode, Settlement } from "./sim_channel.ts";
import { SimClient } from "./sim_client.ts";

const CHANNELS_MAX = 4;
const CONSUMERS_MAX = 6;
/** Bound to every queue of a run. */
export const FANOUT = "all";

/** What actors of one run share. */
export interface Stage {
  readonly node: TestNode;
  readonly ledger: Ledger;
  readonly plans: readonly QueuePlan[];
  readonly prng: Prng;
  takeId(): number;
}

/** A random client. */
export class Actor {
  readonly name: string;
  readonly #stage: Stage;
  readonly #prng: Prng;
  readonly #channels = new Map<number, SimChannel>();
  #client: (SimClient & { wire: MemoryWire }) | null = null;
  #expectedCloses = new Set<string>();
  #connectionCount = 0;
  #tagCount = 0;

  constructor(name: string, stage: Stage) {
    this.name = name;
    this.#stage = stage;
    this.#prng = stage.prng;
  }

  /** Whether everything that happened to this client is known to the ledger. */
  get isInStep(): boolean {
    const client = this.#client;
    return client === null || (client.wire.isIdle && client.wire.isClientReading);
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#prng.nextBelow(choices.length)]!;
  }

  #chance(percent: number): boolean {
    return this.#prng.nextBelow(100) < percent;
  }

  /** Does one random thing. */
  act(): void {
    const client = this.#client;
    if (client === null || client.isClosed) return this.#connect();
    if (!client.wire.isClientReading) return this.#actBlindly(client);
    if (!client.wire.isIdle) {
      // The broker does not read us: publishers are blocked.
      if (this.#chance(5)) this.drop();
      return;
    }
    const channel = this.#anyChannel();
    if (channel === null || (this.#channels.size < CHANNELS_MAX && this.#chance(5))) {
      return this.#openChannel(client);
    }
    this.#actOn(channel, client);
  }

  #actBlindly(client: { wire: MemoryWire }): void {
    if (this.#chance(40)) client.wire.read();
    else if (this.#chance(5)) this.drop();
  }

  #anyChannel(): SimChannel | null {
    return this.#channels.size === 0 ? null : this.#pick([...this.#channels.values()]);
  }

  #actOn(channel: SimChannel, client: { wire: MemoryWire }): void {
    const dice = this.#prng.nextBelow(1000);
    if (dice < 330) this.#publishSome(channel);
    else if (dice < 700) this.#settle(channel);
    else if (dice < 780) this.#consume(channel);
    else if (dice < 800) this.#cancel(channel);
    else if (dice < 870) this.#get(channel);
    else if (dice < 890) channel.recover();
    else if (dice < 920) this.#qos(channel);
    else if (dice < 960) this.#endTransaction(channel);
    else if (dice < 970) this.#closeChannel(channel);
    else if (dice < 978) client.wire.stopReading();
    else if (dice < 988) this.#breakChannel(channel);
    else if (dice < 992) this.#breakConnection(channel);
    else if (dice < 996) this.drop();
    else this.close();
  }

  // --- connections and channels

  #connect(): void {
    this.#channels.clear();
    this.#connectionCount++;
    const client = this.#stage.node.attach(new SimClient((incoming) => this.#arrived(incoming)));
    this.#client = client;
    client.login(this.#chance(30) ? { frameMax: 4096 } : {});
  }

  #arrived(incoming: Incoming): void {
    const { key, channel, name, args } = incoming;
    if (key === M.CONNECTION_BLOCKED || key === M.CONNECTION_UNBLOCKED) return;
    if (key === M.CONNECTION_CLOSE || key === M.CHANNEL_CLOSE) {
      if (this.#expectedCloses.delete(`${channel} ${name}`)) return;
      if (this.#channels.get(channel)?.endsPartially(args.replyText)) return;
      throw new BrokenPromise(`${this.name} did not expect ${name}: ${args.replyText}`);
    }
    const open = this.#channels.get(channel);
    if (open === undefined) throw new BrokenPromise(`${this.name} has no channel for ${name}`);
    open.arrived(incoming);
  }

  #openChannel(client: SimClient): void {
    let number = 1;
    while (this.#channels.has(number)) number++;
    const mode = this.#pick<Mode>(["plain", "confirm", "confirm", "tx"]);
    const name = `${this.name}.${this.#connectionCount}.${number}.${this.#tagCount++}`;
    const channel = new SimChannel(client.channel(number), mode, name, this.#stage.ledger);
    this.#channels.set(number, channel);
  }

  #closeChannel(channel: SimChannel): void {
    channel.ending();
    channel.channel.close();
    this.#channels.delete(channel.channel.number);
  }

  /** Closes the connection in good order. */
  close(): void {
    const client = this.#client;
    if (client === null || client.isClosed) return;
    if (!this.isInStep) return this.drop();
    this.#endChannels();
    client.close();
    this.#client = null;
  }

  /** The stream breaks. */
  drop(): void {
    const client = this.#client;
    if (client === null) return;
    // What was on its way counts as delivered, although nobody will ever read it.
    client.wire.peek();
    this.#endChannels();
    client.wire.drop();
    this.#client = null;
  }

  #endChannels(): void {
    for (const channel of this.#channels.values()) channel.ending();
    this.#channels.clear();
  }

  // --- mischief

  #breakChannel(channel: SimChannel): void {
    const { number, client } = channel.channel;
    this.#expectedCloses.add(`${number} channel.close`);
    channel.ending();
    breakChannel(channel.channel, this.#prng);
    client.send(M.CHANNEL_CLOSE_OK, number);
    this.#channels.delete(number);
  }

  #breakConnection(channel: SimChannel): void {
    this.#expectedCloses.add("0 connection.close");
    this.#endChannels();
    breakConnection(channel.channel, this.#prng);
    channel.channel.client.send(M.CONNECTION_CLOSE_OK, 0);
    this.#client = null;
  }

  // --- messages

  #publishSome(channel: SimChannel): void {
    const wire = channel.channel.client.wire as MemoryWire;
    for (let count = 1 + this.#prng.nextBelow(6); count > 0 && wire.isIdle; count--) {
      this.#publish(channel);
    }
  }

  #publish(channel: SimChannel): void {
    const { ledger, plans } = this.#stage;
    const dice = this.#prng.nextBelow(20);
    if (dice === 0) return channel.publish("nowhere", "x", [], { mandatory: this.#chance(50) });
    const targets = dice === 1 ? plans : [this.#pick(plans)];
    const id = this.#stage.takeId();
    const expirationMs = this.#chance(5) ? this.#prng.nextBelow(2000) : Infinity;
    const copies = targets.map((plan) => ledger.sent(id, plan, channel.name, expirationMs));
    const size = this.#chance(3) ? this.#prng.nextBelow(300_000) : this.#prng.nextBelow(60);
    const options = {
      exchange: dice === 1 ? FANOUT : "",
      properties: {
        deliveryMode: 1 + this.#prng.nextBelow(2),
        ...(expirationMs === Infinity ? {} : { expiration: String(expirationMs) }),
      },
    };
    channel.publish(targets[0]!.name, `${id} ${"x".repeat(size)}`, copies, options);
  }

  #settle(channel: SimChannel): void {
    if (channel.outstanding.size === 0) return;
    const tag = this.#pick([...channel.outstanding.keys()]);
    const how = this.#pick<Settlement>(["ack", "ack", "reject", "reject", "nack", "nack", "drop"]);
    channel.settle(tag, how, this.#chance(20));
  }

  #consume(channel: SimChannel): void {
    if (channel.consumers.size >= CONSUMERS_MAX) return;
    const tag = `t${this.#tagCount++}`;
    channel.consume(this.#pick(this.#stage.plans), tag, this.#chance(15));
  }

  #cancel(channel: SimChannel): void {
    if (channel.consumers.size > 0) channel.cancel(this.#pick([...channel.consumers.keys()]));
  }

  #get(channel: SimChannel): void {
    const isFull = channel.unackedCount >= this.#stage.node.broker.limits.unackedPerChannelMax;
    channel.get(this.#pick(this.#stage.plans), isFull || this.#chance(30));
  }

  #qos(channel: SimChannel): void {
    channel.channel.qos(this.#prng.nextBelow(8), this.#chance(30));
  }

  #endTransaction(channel: SimChannel): void {
    if (channel.mode !== "tx") return;
    if (!this.#chance(70)) return channel.rollback();
    channel.commit();
    if (!channel.isEnded) return;
    channel.channel.send(M.CHANNEL_CLOSE_OK);
    this.#channels.delete(channel.channel.number);
  }
}
