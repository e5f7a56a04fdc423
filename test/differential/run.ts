// Runs one program on two brokers in lockstep and says where they differ. After each step both come to
// rest, and what each channel has been told is compared: answers in order, deliveries of each consumer in
// order, returns in order, confirms by tag. Deliveries are named by message: tags may differ where a
// broker mixes the deliveries of several consumers in another order.

import * as M from "../../src/amqp/methods_gen.ts";
import { joined } from "../support/amqp_client.ts";
import { frames, type Sent } from "./frames.ts";
import { Line } from "./line.ts";
import { CHANNEL_COUNT, EXCHANGE_TYPES, type Op, type Program, type Step } from "./program.ts";
import { type Seen, View } from "./view.ts";

/** A broker under comparison. */
export interface Target {
  readonly name: string;
  readonly port: number;
  /** Resolves when the broker has nothing left to do. */
  rest(): Promise<void>;
}

/** How a program went. */
export interface Outcome {
  /** What differs, or null. */
  difference: string | null;
  /** Methods that were sent, and steps that were compared. */
  methodCount: number;
  stepCount: number;
  /** How often it started over, because a step left something open. */
  startedOverCount: number;
  /** What Reprise said, by kind, and how often. */
  said: Map<string, number>;
}

// The stream of a client that vanishes is closed by the system at once; the broker hears of it a moment
// later.
const VANISH_MS = 60;
// RabbitMQ expires by a timer even what is over at once.
const EXPIRY_MS = 15;
const FAREWELLS = { dropping: 0, politely: 1, twice: 2 } as const;

/** Runs a program on both brokers, up to the first difference. */
export async function runProgram(program: Program, targets: readonly Target[]): Promise<Outcome> {
  const outcome: Outcome = {
    difference: null,
    methodCount: 0,
    stepCount: 0,
    startedOverCount: 0,
    said: new Map(),
  };
  const setUp = program.steps.filter(({ setsUp }) => setsUp);
  let rest = program.steps;
  while (rest.length > 0 && outcome.difference === null) {
    const doneCount = await runUntilOpen(program, rest, targets, outcome);
    rest = afterOpen(rest.slice(doneCount), setUp);
    if (rest.length > 0) outcome.startedOverCount++;
  }
  return outcome;
}

/** Returns what is still to do after a step that left something open: the set-up first, if anything. */
export function afterOpen(rest: readonly Step[], setUp: readonly Step[]): readonly Step[] {
  const others = rest.filter(({ setsUp }) => !setsUp);
  return others.length === 0 ? [] : [...setUp, ...others];
}

// Runs steps up to the first that differs or leaves something open, and cleans up. Returns their number.
async function runUntilOpen(
  program: Program,
  steps: readonly Step[],
  targets: readonly Target[],
  outcome: Outcome,
): Promise<number> {
  const sides = targets.map((target) => new Side(target, program));
  let count = 0;
  try {
    for (const step of steps) {
      const difference = await runStep(step, sides, outcome);
      outcome.stepCount++;
      count++;
      if (difference === null) continue;
      if (difference !== "") outcome.difference = `step ${outcome.stepCount}: ${difference}`;
      break;
    }
  } finally {
    await Promise.all(sides.map((side) => side.cleanUp()));
  }
  return count;
}

// Null when both agree, a text when they do not, empty when the step leaves something open.
async function runStep(step: Step, sides: Side[], outcome: Outcome): Promise<string | null> {
  const { channel, ops } = step;
  await Promise.all(sides.map((side) => side.ensureOpen(channel)));
  const [op] = ops;
  const { program, views } = sides[0]!;
  const view = views[channel]!;
  const { consumers, unsettled } = view;
  const holds = consumers.size > 0 || unsettled.size > 0 ||
    ops.some(({ kind }) => kind === "consume" || kind === "get");
  const neighbours = [channel & ~1, channel | 1].map((index) => views[index]!);
  const mayOvertake = overtakes(view, ops) || dropsBefore(program, view, ops);
  // One of them has something that the other has, or may be given.
  const bothHold = neighbours.some((view) => view.unsettled.size > 0) &&
    neighbours.every((view) => view.unsettled.size > 0 || view.consumers.size > 0);
  if (op?.kind === "disconnect") {
    await Promise.all(sides.map((side) => side.disconnect(channel, FAREWELLS[op.how])));
    outcome.methodCount++;
  } else {
    outcome.methodCount += await sendStep(step, sides);
  }
  // What was on its way to a channel that ends amid other methods or a commit, or was with it, comes back before or
  // after what the others of the step have done, and may have gone to other channels by now.
  const { isRefused, isConnectionRefused } = view;
  const endsAmid = (ops.length > 1 || op?.kind === "tx") && isRefused;
  // What the channels of a connection have comes back in the order in which the queue hears of their end.
  const endTogether = bothHold && (isConnectionRefused || op?.kind === "disconnect");
  const returns = endTogether || (endsAmid && (holds || isConnectionRefused));
  const unsure = (index: number) => returns || (endsAmid && index === channel);
  const seen = sides.map((side) => side.takeSeen());
  for (const one of seen[0]!) count(outcome.said, one);
  const difference = compare(sides, seen, unsure);
  if (difference === null) return returns ? "" : null;
  if (!mayOvertake) return difference;
  // The channels may have other messages now, but as many.
  return differsInOrder(seen) && compare(sides, seen.map(withoutDeliveries), unsure) === null
    ? ""
    : difference;
}

/**
 * Whether the step returns messages under a limit of the channel that is used up, or with an ack. To
 * RabbitMQ's queue both the ack and the room in the limit are more urgent than the return, so that it
 * may go on with its consumers before it has the message back. A commit settles after its publishes
 * have found their consumers.
 */
export function overtakes(view: View, ops: readonly Op[]): boolean {
  if (ops.some((op) => commits(op, view)) && view.held.size > 0) return true;
  return ops.some((op) => givesBack(op, view)) && (view.isFull || ops.some(isAck));
}

/**
 * Whether returned messages may push others out of their queue, before a publish of the same step. The
 * dead letters of those are published by RabbitMQ's queue, the publish by the channel.
 */
export function dropsBefore({ queues }: Program, view: View, ops: readonly Op[]): boolean {
  const drops = queues.some(({ args }) =>
    "x-max-length" in args && "x-dead-letter-exchange" in args &&
    args["x-overflow"] === "drop-head"
  );
  return drops && ops.some((op) => givesBack(op, view)) &&
    ops.some(({ kind }) => kind === "publish");
}

function givesBack(op: Op, view: View): boolean {
  if (op.kind === "recover") return op.how !== "without-requeue";
  if (commits(op, view)) return true;
  return (op.kind === "settle" || op.kind === "settle-all") && op.how !== "ack" && op.requeue;
}

function commits(op: Op, view: View): boolean {
  return op.kind === "tx" && op.what === "commit" && view.isTx;
}

function isAck(op: Op): boolean {
  return (op.kind === "settle" || op.kind === "settle-all") && op.how === "ack";
}

/** Whether both sides were given as many messages in all. */
export function differsInOrder(seen: readonly (readonly Seen[])[]): boolean {
  const counts = seen.map((channels) =>
    channels.flatMap(({ deliveries }) => Object.values(deliveries)).flat().length
  );
  return counts[0] === counts[1];
}

function withoutDeliveries(seen: readonly Seen[]): Seen[] {
  return seen.map((one) => ({ ...one, deliveries: {} }));
}

async function sendStep(step: Step, sides: Side[]): Promise<number> {
  const { channel, ops } = step;
  const batches: Uint8Array[][] = sides.map(() => []);
  let count = 0;
  for (const op of ops) {
    const sent = resolve(op, sides.map((side) => side.views[channel]!));
    if (sent === null) continue;
    sides.forEach((side, index) => batches[index]!.push(side.frames(channel, op, sent[index]!)));
    count++;
  }
  await Promise.all(sides.map((side, index) => side.send(step, joined(batches[index]!))));
  return count;
}

// --- one broker

class Side {
  readonly target: Target;
  readonly program: Program;
  readonly lines: (Line | null)[] = [null, null];
  readonly views: View[] = Array.from({ length: CHANNEL_COUNT }, () => new View());
  #messageCount = 0;

  constructor(target: Target, program: Program) {
    this.target = target;
    this.program = program;
  }

  async #line(index: number): Promise<Line> {
    const found = this.lines[index]!;
    if (found !== null && !found.isEnded && !found.isClosing) return found;
    if (found !== null) await found.end(0);
    const line = await Line.connect(this.target.port);
    this.lines[index] = line;
    const [first, second] = this.views.slice(index * 2, index * 2 + 2);
    for (const view of [first!, second!]) view.reset();
    line.observe = (incoming) => {
      const { channel } = incoming;
      if (channel > 0) this.views[index * 2 + channel - 1]!.observe(incoming);
      else if (incoming.key === M.CONNECTION_CLOSE) {
        for (const view of [first!, second!]) view.observe(incoming);
      }
    };
    return line;
  }

  async ensureOpen(channel: number): Promise<void> {
    const line = await this.#line(channel >> 1);
    const number = numberOf(channel);
    const view = this.views[channel]!;
    if (line.open.has(number)) return;
    view.reset();
    await line.openChannel(number);
  }

  frames(channel: number, op: Op, sent: Sent): Uint8Array {
    const id = op.kind === "publish" ? ++this.#messageCount : 0;
    const { program } = this;
    if (op.kind === "qos" && op.global) this.views[channel]!.channelLimit = op.count;
    return frames(op, sent, {
      program,
      view: this.views[channel]!,
      channel: numberOf(channel),
      id,
    });
  }

  /** Sends what a step has for a channel and waits until everything it causes has come. */
  async send(step: Step, bytes: Uint8Array): Promise<void> {
    const { channel, cuts } = step;
    const line = this.lines[channel >> 1]!;
    const view = this.views[channel]!;
    await line.sendCut(bytes, cuts);
    // A channel that closes or commits takes no other method meanwhile.
    if (!step.ops.some(endsTalk)) await line.fence([numberOf(channel)]);
    await line.until(() => view.isDone);
    if (mayExpire(step, this.program)) await pause(EXPIRY_MS);
    await this.settle();
  }

  /** Lets the broker come to rest and takes in what it has for any channel. */
  async settle(): Promise<void> {
    await this.target.rest();
    await Promise.all(
      this.lines.map((line) => line?.isEnded === false ? line.fence(line.open) : null),
    );
  }

  async disconnect(channel: number, farewellCount: number): Promise<void> {
    const answerCount = await this.lines[channel >> 1]!.end(farewellCount);
    for (const index of [channel & ~1, channel | 1]) this.views[index]!.reset();
    this.views[channel]!.seen.answers.push(`connection.close-ok times=${answerCount}`);
    await pause(VANISH_MS);
    await this.settle();
  }

  takeSeen(): Seen[] {
    return this.views.map((view) => {
      if (!view.isDone) {
        view.seen.broken.push(
          `${view.owed} answers and ${view.unconfirmed.size} confirms are missing`,
        );
      }
      return view.takeSeen();
    });
  }

  async cleanUp(): Promise<void> {
    for (const line of this.lines) await line?.end(1);
    await pause(VANISH_MS);
    await this.target.rest();
    const line = await Line.connect(this.target.port);
    await line.openChannel(1);
    for (const { name } of this.program.queues) line.send(M.QUEUE_DELETE, 1, { queue: name });
    for (const exchange of Object.keys(EXCHANGE_TYPES)) {
      line.send(M.EXCHANGE_DELETE, 1, { exchange });
    }
    await line.fence([1]);
    await line.end(1);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function endsTalk(op: Op): boolean {
  return op.kind === "close" || (op.kind === "tx" && op.what === "commit");
}

function mayExpire({ ops }: Step, { queues }: Program): boolean {
  const hasTimeToLive = queues.some(({ args }) => "x-message-ttl" in args);
  return hasTimeToLive || ops.some((op) => op.kind === "publish" && op.expires);
}

function numberOf(channel: number): number {
  return (channel & 1) + 1;
}

// --- what a method means on each side

// What each side sends for a method that names deliveries; null when it is left out.
function resolve(op: Op, views: readonly View[]): Sent[] | null {
  if (op.kind === "settle-all" || op.kind === "recover") {
    if (mixesConsumers(views[0]!, Infinity)) return null;
    return views.map(() => ({ tag: 0, multiple: true }));
  }
  // RabbitMQ's new limit does not count what an open transaction settles.
  if (op.kind === "qos" && op.global && views[0]!.held.size > 0) return null;
  if (op.kind !== "settle") return views.map(() => ({ tag: 0, multiple: false }));
  const [first] = views;
  const candidates = [...first!.unsettled];
  if (candidates.length === 0) return null;
  const [, { key }] = candidates[Math.floor(op.pick * candidates.length)]!;
  const tags = views.map((view) => tagOf(view, key));
  if (tags.includes(-1)) return null;
  const isSame = op.multiple && coversTheSame(views, tags) && !mixesConsumers(first!, tags[0]!);
  return tags.map((tag) => ({ tag, multiple: isSame }));
}

// RabbitMQ settles what several consumers of a queue have one consumer after the other; what comes free or
// back meanwhile goes to whose turn it then is.
function mixesConsumers(view: View, tag: number): boolean {
  const consumerOf = new Map<string, string>();
  for (const [one, { queue, consumerTag }] of view.unsettled) {
    if (one > tag) continue;
    if ((consumerOf.get(queue) ?? consumerTag) !== consumerTag) return true;
    consumerOf.set(queue, consumerTag);
  }
  return false;
}

function tagOf(view: View, key: string): number {
  for (const [tag, one] of view.unsettled) if (one.key === key) return tag;
  return -1;
}

// Up to a tag there may be other deliveries on the other side, where those of several consumers mix.
function coversTheSame(views: readonly View[], tags: readonly number[]): boolean {
  const covered = views.map((view, index) => {
    const keys = [...view.unsettled].filter(([tag]) => tag <= tags[index]!).map(([, { key }]) =>
      key
    );
    return keys.sort().join();
  });
  return covered.every((one) => one === covered[0]);
}

// --- what was said

function count(said: Map<string, number>, seen: Seen): void {
  const add = (kind: string) => said.set(kind, (said.get(kind) ?? 0) + 1);
  for (const answer of seen.answers) add(kindOf(answer));
  for (const list of Object.values(seen.deliveries)) for (const _ of list) add("basic.deliver");
  for (const _ of seen.returns) add("basic.return");
  for (const outcome of Object.values(seen.confirms)) add(`confirm ${outcome}`);
  for (const _ of seen.cancels) add("basic.cancel");
}

// Closes by their text without names and values, other answers by their method.
function kindOf(answer: string): string {
  if (!/^(channel|connection)\.close /.test(answer)) return answer.split(" ", 1)[0]!;
  return answer.replace(/ for (queue|exchange).*| \(.*/, "").replaceAll(/'[^']*'/g, "'…'")
    .replaceAll(/tag \d+/g, "tag …");
}

// --- comparison

function compare(
  sides: Side[],
  seen: Seen[][],
  isUnsure: (channel: number) => boolean,
): string | null {
  const lines: string[] = [];
  for (let channel = 0; channel < CHANNEL_COUNT; channel++) {
    const both = seen.map((one) => one[channel]!);
    const textOf = isUnsure(channel) ? textOfUnsure : textOfAll;
    if (textOf === textOfAll) {
      both.forEach(({ broken }, index) => {
        const { name } = sides[index]!.target;
        for (const what of broken) lines.push(`channel ${channel}, ${name}: ${what}`);
      });
    }
    const texts = both.map(textOf);
    if (texts[0] === texts[1]) continue;
    lines.push(`channel ${channel}:`);
    texts.forEach((text, index) => lines.push(`  ${sides[index]!.target.name}: ${text}`));
  }
  return lines.length === 0 ? null : lines.join("\n");
}

function textOfUnsure(seen: Seen): string {
  return JSON.stringify({ answers: answersOf(seen), returns: seen.returns });
}

function textOfAll(seen: Seen): string {
  const { returns, confirms } = seen;
  const cancels = seen.cancels.sort();
  const consumers = seen.answers.filter(comesFromQueue).sort();
  const deliveries = Object.fromEntries(Object.entries(seen.deliveries).sort());
  const answers = answersOf(seen);
  return JSON.stringify({ answers, consumers, returns, cancels, deliveries, confirms });
}

function answersOf({ answers }: Seen): string[] {
  return answers.map((answer, index) => index === 0 ? answer : withoutCounts(answer))
    .filter((one) => !comesFromQueue(one));
}

// These are sent by the queue, past the other answers of its channel.
function comesFromQueue(answer: string): boolean {
  return answer.startsWith("basic.consume-ok") || answer.startsWith("basic.cancel-ok");
}

// RabbitMQ reads the counts of a declare past what the queue has still to handle.
function withoutCounts(answer: string): string {
  return answer.startsWith("queue.declare-ok")
    ? answer.replace(/ (messageCount|consumerCount)=\d+/g, "")
    : answer;
}
