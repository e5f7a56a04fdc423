// What the fuzzer does to both brokers: random steps, each a few methods that one channel sends at once,
// cut into writes at random. The same seed gives the same program. Knows nothing of sockets or answers;
// methods that need a delivery name it by a number in [0, 1) that run.ts resolves.
//
// RabbitMQ's channels and queues are processes that talk by messages, so some methods that follow each
// other at once meet a queue in an order that RabbitMQ leaves open. Those begin or end their step; the
// brokers come to rest between steps. docs/differences.md lists these freedoms.

import { Prng } from "../../src/lib/prng.ts";

/** Arguments and flags of a queue; the same for every declare of a program, but for wrong ones. */
export interface QueueKind {
  readonly name: string;
  readonly durable: boolean;
  readonly exclusive: boolean;
  readonly autoDelete: boolean;
  readonly args: Readonly<Record<string, string | number>>;
}

/** One method. */
export type Op =
  | {
    readonly kind: "declare";
    readonly queue: number;
    readonly how: "own" | "passive" | "wrong" | "invalid";
    readonly nowait: boolean;
  }
  | {
    readonly kind: "delete";
    readonly queue: number;
    readonly if: "" | "unused" | "empty";
    readonly nowait: boolean;
  }
  | { readonly kind: "purge"; readonly queue: number; readonly nowait: boolean }
  | {
    readonly kind: "exchange";
    readonly exchange: string;
    readonly how: "declare" | "passive" | "wrong" | "delete" | "delete-unused";
    readonly nowait: boolean;
  }
  | {
    readonly kind: "exchange-bind" | "exchange-unbind";
    readonly destination: string;
    readonly source: string;
    readonly key: string;
  }
  | {
    readonly kind: "bind" | "unbind";
    readonly queue: number;
    readonly exchange: string;
    readonly key: string;
    readonly nowait: boolean;
  }
  | {
    readonly kind: "publish";
    readonly exchange: string;
    readonly key: string;
    readonly mandatory: boolean;
    readonly persistent: boolean;
    readonly expires: boolean;
    readonly bodyBytes: number;
    /** Further routing keys, and whether the receiver may see them; or something that is refused. */
    readonly extra: "" | "CC" | "BCC" | "user-id" | "bad-expiration" | "bad-cc" | "immediate";
  }
  | { readonly kind: "get"; readonly queue: number; readonly noAck: boolean }
  | {
    readonly kind: "consume";
    readonly queue: number;
    readonly tag: string;
    readonly noAck: boolean;
    readonly exclusive: boolean;
    readonly priority: number;
    readonly nowait: boolean;
  }
  | { readonly kind: "cancel"; readonly tag: string }
  | {
    readonly kind: "settle";
    readonly how: "ack" | "nack" | "reject";
    readonly requeue: boolean;
    readonly multiple: boolean;
    /** Which of the unacked deliveries. */
    readonly pick: number;
  }
  | { readonly kind: "settle-unknown"; readonly how: "ack" | "nack" | "reject" }
  | { readonly kind: "settle-all"; readonly how: "ack" | "nack"; readonly requeue: boolean }
  | { readonly kind: "recover"; readonly how: "" | "async" | "without-requeue" }
  | { readonly kind: "qos"; readonly count: number; readonly global: boolean }
  | { readonly kind: "tx"; readonly what: "select" | "commit" | "rollback" }
  | { readonly kind: "confirm" }
  | {
    readonly kind: "refused";
    readonly what: "flow" | "prefetch-size" | "second-open" | "no-queue";
  }
  | { readonly kind: "close" }
  | { readonly kind: "disconnect"; readonly how: "politely" | "twice" | "dropping" };

/** What one channel sends at once. */
export interface Step {
  readonly channel: number;
  readonly ops: readonly Op[];
  /** Where the bytes are cut into writes, as parts of them. */
  readonly cuts: readonly number[];
  /** Whether it is done again when the program starts over. */
  readonly setsUp: boolean;
}

/** One sequence. */
export interface Program {
  /** Whether the direct exchange has the fanout one as its alternate. */
  readonly hasAlternate: boolean;
  readonly queues: readonly QueueKind[];
  readonly steps: readonly Step[];
}

/** Channels of a program; half of them are on each of two connections. */
export const CHANNEL_COUNT = 4;
const QUEUE_COUNT = 4;
const STEPS_MIN = 10;
const STEPS_MAX = 40;
const OPS_MAX = 6;

const EXCHANGES = ["fx", "dx", "tx", "hx"];
/** The type of each exchange of a program. */
export const EXCHANGE_TYPES: Readonly<Record<string, string>> = {
  fx: "fanout",
  dx: "direct",
  tx: "topic",
  hx: "headers",
};
/** Stands for the queue that the channel declared last. */
export const LAST_QUEUE = -1;
const KEYS = ["k", "l", "k.l"];
const BINDING_KEYS = ["k", "l", "k.l", "#", "*", "*.l"];

/** Makes the program of a seed. */
export function makeProgram(seed: number): Program {
  return new Maker(seed).program();
}

class Maker {
  readonly #prng: Prng;
  readonly #queues: QueueKind[] = [];
  /** Per channel, so that not all channels do a bit of everything. */
  readonly #modes: ("plain" | "confirm" | "tx")[] = [];
  /** The queue that has a dead-letter exchange; 0 when none has. */
  readonly #deadLettering: number;
  readonly #busiest: number;
  readonly #hasAlternate: boolean;
  #tagCount = 0;
  readonly #tags: string[] = [];
  readonly #hasPriorities: boolean;
  /** All limits of the program or none: in RabbitMQ a limit per consumer lifts that of the channel. */
  readonly #hasGlobal: boolean;
  /** RabbitMQ routes a publish at once, Reprise at its commit: nothing may change between. */
  readonly #hasTx: boolean;
  /** All messages of the program or none: RabbitMQ expires only what stands at the head. */
  readonly #isExpiring: boolean;

  constructor(seed: number) {
    this.#prng = new Prng(seed);
    this.#hasPriorities = this.#chance(0.15);
    this.#hasGlobal = this.#chance(0.2);
    this.#hasTx = this.#chance(0.3);
    this.#hasAlternate = this.#chance(0.2);
    this.#busiest = this.#prng.nextBelow(QUEUE_COUNT);
    this.#isExpiring = this.#chance(0.06);
    const hasDeadLetters = !this.#isExpiring && this.#chance(0.5);
    this.#deadLettering = hasDeadLetters ? 1 + this.#prng.nextBelow(QUEUE_COUNT - 1) : 0;
    for (let index = 0; index < QUEUE_COUNT; index++) this.#queues.push(this.#queueKind(index));
    for (let index = 0; index < CHANNEL_COUNT; index++) {
      const isTx = this.#hasTx && this.#chance(0.5);
      this.#modes.push(isTx ? "tx" : this.#of(["plain", "plain", "confirm"]));
    }
  }

  program(): Program {
    const steps: Step[] = [this.#setUp(), ...this.#selects()];
    const count = STEPS_MIN + this.#prng.nextBelow(STEPS_MAX - STEPS_MIN);
    while (steps.length < count) steps.push(this.#step());
    return { hasAlternate: this.#hasAlternate, queues: this.#queues, steps };
  }

  get #hasLateEffects(): boolean {
    const late = ["x-dead-letter-exchange", "x-message-ttl"];
    return this.#queues.some(({ args }) => late.some((name) => name in args));
  }

  #chance(probability: number): boolean {
    return this.#prng.nextFloat() < probability;
  }

  #of<T>(choices: readonly T[]): T {
    return choices[this.#prng.nextBelow(choices.length)]!;
  }

  // The first queue takes dead letters and has no arguments of its own.
  #queueKind(index: number): QueueKind {
    const args: Record<string, string | number> = {};
    if (index > 0) {
      const hasLimit = this.#chance(0.3);
      if (hasLimit) {
        if (this.#chance(0.2)) args["x-max-length-bytes"] = this.#of([0, 40, 100]);
        else args["x-max-length"] = this.#prng.nextBelow(4);
        const overflow = this.#of(["", "drop-head", "reject-publish", "reject-publish-dlx"]);
        if (overflow !== "") args["x-overflow"] = overflow;
      }
      // Dead letters do not expire any more, and what stands behind them would.
      // And two queues write theirs side by side.
      if (this.#deadLettering === index) {
        args["x-dead-letter-exchange"] = this.#of(["", "", "fx"]);
        args["x-dead-letter-routing-key"] = "q0";
      }
      // What is returned to a full queue after its time dies of its length in RabbitMQ.
      if (this.#deadLettering > 0 && this.#chance(0.1) && !hasLimit) args["x-message-ttl"] = 0;
    }
    return {
      name: `q${index}`,
      durable: this.#chance(0.6),
      exclusive: index > 0 && !this.#hasTx && this.#chance(0.04),
      autoDelete: index > 0 && !this.#hasTx && this.#chance(0.12),
      args,
    };
  }

  #selects(): Step[] {
    const steps: Step[] = [];
    this.#modes.forEach((mode, channel) => {
      if (mode === "plain") return;
      const op: Op = mode === "confirm" ? { kind: "confirm" } : { kind: "tx", what: "select" };
      steps.push({ channel, ops: [op], cuts: [], setsUp: true });
    });
    return steps;
  }

  #setUp(): Step {
    const ops: Op[] = [];
    for (let queue = 0; queue < QUEUE_COUNT; queue++) {
      ops.push({ kind: "declare", queue, how: "own", nowait: false });
    }
    for (const exchange of EXCHANGES) {
      ops.push({ kind: "exchange", exchange, how: "declare", nowait: false });
      for (let queue = 0; queue < QUEUE_COUNT; queue++) {
        if (this.#chance(0.4)) ops.push(this.#binding("bind", queue, exchange));
      }
    }
    return { channel: 0, ops, cuts: this.#cuts(), setsUp: true };
  }

  #cuts(): number[] {
    const cuts: number[] = [];
    while (cuts.length < 6 && this.#chance(0.4)) cuts.push(this.#prng.nextFloat());
    return cuts.sort((a, b) => a - b);
  }

  #step(): Step {
    const channel = this.#prng.nextBelow(CHANNEL_COUNT);
    const ops: Op[] = [];
    const count = 1 + this.#prng.nextBelow(OPS_MAX);
    for (let tries = 0; ops.length < count && tries < 4 * OPS_MAX; tries++) {
      const op = this.#op(channel);
      if (ops.length > 0 && this.#beginsStep(op)) continue;
      // Whose turn it is when a consumer becomes free after another method is a question of turns.
      const others = ["publish", "consume"];
      if (op.kind === "settle" && ops.some(({ kind }) => others.includes(kind))) continue;
      // RabbitMQ 3.10 fails with 541 at the cancel of a consumer that its queue has yet to confirm.
      // After a delete it may cancel one that its queue is about to cancel.
      if (op.kind === "cancel" && ops.some(({ kind }) => kind === "consume" || kind === "delete")) {
        continue;
      }
      ops.push(op);
      if (this.#endsStep(op)) break;
    }
    return { channel, ops, cuts: this.#cuts(), setsUp: false };
  }

  // Before these, what queues are about to hand over has to have arrived.
  #beginsStep(op: Op): boolean {
    // RabbitMQ 3.10 closes a channel twice when it has no such queue and was closed just before.
    if ("queue" in op && op.queue === LAST_QUEUE) return true;
    switch (op.kind) {
      case "settle":
        return op.requeue || op.multiple || this.#hasPriorities;
      case "declare":
      case "refused":
      case "consume":
      case "settle-all":
      case "settle-unknown":
      case "recover":
      case "close":
      case "disconnect":
        return true;
      case "qos":
        return op.global;
      default:
        return false;
    }
  }

  // What these cause goes on after their answer, or has none.
  #endsStep(op: Op): boolean {
    switch (op.kind) {
      case "publish":
        return op.expires || this.#hasLateEffects;
      case "settle":
      case "settle-all":
        // RabbitMQ counts a channel's limit in a process of its own.
        return this.#hasGlobal || (op.how !== "ack" && !op.requeue);
      case "tx":
        return op.what === "commit";
      case "cancel":
      case "close":
      case "disconnect":
        return true;
      default:
        return false;
    }
  }

  #op(channel: number): Op {
    const isTx = this.#modes[channel] === "tx";
    const roll = this.#prng.nextFloat() * 100;
    if (roll < 37) return this.#publish();
    if (roll < 44) return this.#get();
    if (roll < 55) return this.#consume();
    if (roll < 79) return this.#settle(isTx);
    if (roll < 81) return { kind: "cancel", tag: this.#anyTag() };
    if (roll < 84) return this.#qos();
    if (roll < 86) return this.#recover();
    if (roll < 92) return isTx ? this.#tx() : this.#publish();
    if (roll < 98.7) return this.#topology();
    if (roll < 99.3) return { kind: "close" };
    if (roll < 99.7) return this.#disconnect();
    if (this.#chance(0.3)) return this.#hasTx ? this.#tx() : { kind: "confirm" };
    if (this.#chance(0.2)) return { kind: "recover", how: "without-requeue" };
    const what = this.#of(["flow", "prefetch-size", "second-open", "no-queue"] as const);
    return { kind: "refused", what };
  }

  #topology(): Op {
    const roll = this.#prng.nextFloat() * 100;
    const nowait = this.#chance(0.1);
    if (roll < 20) return { kind: "purge", queue: this.#namedQueue(), nowait };
    if (roll < 45) return { kind: "declare", queue: this.#queue(), how: this.#how(), nowait };
    if (this.#hasTx) return { kind: "settle-unknown", how: this.#of(["ack", "nack", "reject"]) };
    if (roll < 55) return this.#delete(nowait);
    if (roll < 80) return this.#binding(this.#of(["bind", "unbind"]), this.#queue());
    if (roll < 88) {
      const [destination, source, key] = [
        this.#exchange(),
        this.#exchange(),
        this.#of(BINDING_KEYS),
      ];
      const kind = this.#of(["exchange-bind", "exchange-bind", "exchange-unbind"] as const);
      return { kind, destination, source, key };
    }
    if (roll < 93) return { kind: "settle-unknown", how: this.#of(["ack", "nack", "reject"]) };
    const how = this.#of(
      ["declare", "declare", "passive", "wrong", "delete", "delete-unused"] as const,
    );
    return { kind: "exchange", exchange: this.#exchange(), how, nowait };
  }

  // Now and then one that nobody declares, or one of the broker's.
  #exchange(): string {
    if (this.#chance(0.04)) return this.#of(["nx", "", "amq.direct", "amq.nx"]);
    return this.#of(EXCHANGES);
  }

  // Half of what happens, happens to one of the queues.
  #queue(): number {
    return this.#chance(0.5) ? this.#busiest : this.#prng.nextBelow(QUEUE_COUNT);
  }

  #how(): "own" | "passive" | "wrong" | "invalid" {
    return this.#of(["own", "own", "own", "passive", "passive", "passive", "wrong", "invalid"]);
  }

  #recover(): Op {
    return { kind: "recover", how: this.#of(["", "", "async"]) };
  }

  #disconnect(): Op {
    return { kind: "disconnect", how: this.#of(["politely", "twice", "dropping", "dropping"]) };
  }

  // RabbitMQ counts what was got before a channel had a limit toward it, and never lets go of it.
  #get(): Op {
    return { kind: "get", queue: this.#namedQueue(), noAck: this.#hasGlobal || this.#chance(0.3) };
  }

  #namedQueue(): number {
    return this.#chance(0.03) ? LAST_QUEUE : this.#queue();
  }

  #publish(): Op {
    const exchange = this.#of(["", "", "", ...EXCHANGES]);
    const key = exchange === "" ? this.#queueKey() : this.#of(KEYS);
    return {
      kind: "publish",
      exchange,
      key,
      mandatory: this.#chance(0.25),
      persistent: this.#chance(0.08),
      expires: this.#isExpiring,
      bodyBytes: this.#chance(0.02) ? 200_000 : this.#of([0, 1, 30, 30, 30, 5000]),
      extra: this.#extra(),
    };
  }

  // Seldom one that leads nowhere.
  #queueKey(): string {
    return `q${this.#chance(0.04) ? QUEUE_COUNT : this.#queue()}`;
  }

  #extra(): "" | "CC" | "BCC" | "user-id" | "bad-expiration" | "bad-cc" | "immediate" {
    if (this.#chance(0.04)) return this.#of(["CC", "BCC"]);
    if (this.#chance(0.997)) return "";
    return this.#of(["user-id", "bad-expiration", "bad-cc", "immediate"]);
  }

  #consume(): Op {
    const isOld = this.#tags.length > 0 && this.#chance(0.04);
    const tag = isOld ? this.#of(this.#tags) : `c${++this.#tagCount}`;
    if (!isOld) this.#tags.push(tag);
    return {
      kind: "consume",
      queue: this.#namedQueue(),
      tag,
      noAck: this.#chance(0.2),
      exclusive: this.#chance(0.08),
      priority: this.#hasPriorities ? this.#prng.nextBelow(3) : 0,
      nowait: this.#chance(0.1),
    };
  }

  #anyTag(): string {
    return this.#tags.length === 0 || this.#chance(0.1) ? "nobody" : this.#of(this.#tags);
  }

  #settle(isTx: boolean): Op {
    const how = this.#of(["ack", "ack", "ack", "nack", "reject"] as const);
    // What a transaction requeues comes after its publishes: the order of both is a freedom.
    const requeue = how !== "ack" && !isTx && this.#chance(0.6);
    if (how !== "reject" && this.#chance(0.1)) return { kind: "settle-all", how, requeue };
    const multiple = how !== "reject" && this.#chance(0.25);
    return { kind: "settle", how, requeue, multiple, pick: this.#prng.nextFloat() };
  }

  #qos(): Op {
    return { kind: "qos", count: this.#prng.nextBelow(4), global: this.#hasGlobal };
  }

  #tx(): Op {
    return { kind: "tx", what: this.#of(["select", "commit", "commit", "rollback"]) };
  }

  #delete(nowait: boolean): Op {
    return { kind: "delete", queue: this.#queue(), if: this.#of(["", "unused", "empty"]), nowait };
  }

  #binding(kind: "bind" | "unbind", queue: number, exchange: string = this.#exchange()): Op {
    const nowait = kind === "bind" && this.#chance(0.1);
    return { kind, queue, exchange, key: this.#of(BINDING_KEYS), nowait };
  }
}
