// One connection of the fuzzer to one broker, over TCP. Sends what it is given, in pieces, and sorts what
// comes back by channel; answers every close, so that a refusal is an event like others.

import { connect, type Socket } from "node:net";
import * as M from "../../src/amqp/methods_gen.ts";
import { AmqpClient, type Incoming, joined, methodFrame } from "../support/amqp_client.ts";
import { PROTOCOL_HEADER } from "../../src/amqp/frame.ts";
import { booleanField } from "../../src/amqp/field_value.ts";
import { encodeText } from "../../src/lib/text.ts";

const ANSWER_MS_MAX = 10_000;
const CAPABILITIES = [
  "authentication_failure_close",
  "consumer_cancel_notify",
  "connection.blocked",
  "basic.nack",
  "publisher_confirms",
];

/** A connection that is open until `isEnded`. */
export class Line extends AmqpClient {
  /** Told of everything that comes once the login is over, but for answers to fences. */
  observe: (incoming: Incoming) => void = () => {};
  /** Channels that are open on both sides. */
  readonly open: Set<number> = new Set();
  isEnded = false;
  /** The broker has closed the connection. */
  isClosing = false;
  #fences = 0;
  /** Answers to closes that came amid a frame of ours; null when none is under way. */
  #delayed: (() => void)[] | null = null;
  readonly #socket: Socket;
  #wake: (() => void) | null = null;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    this.wire = {
      send: (bytes) => void socket.write(bytes),
      drop: () => socket.destroy(),
      stopReading: () => socket.pause(),
      read: () => socket.resume(),
    };
    socket.on("data", (bytes: Uint8Array) => {
      this.received(bytes);
      this.#wakeUp();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.isEnded = true;
      this.#wakeUp();
    });
  }

  /** Connects and logs in. */
  static async connect(port: number): Promise<Line> {
    const socket = await new Promise<Socket>((resolve, reject) => {
      const made = connect(port, "127.0.0.1", () => resolve(made));
      made.once("error", reject);
      made.setNoDelay(true);
    });
    const line = new Line(socket);
    line.raw(PROTOCOL_HEADER);
    await line.#answer(M.CONNECTION_START);
    const table = new Map(CAPABILITIES.map((name) => [name, booleanField(true)]));
    line.send(M.CONNECTION_START_OK, 0, {
      clientProperties: new Map([["capabilities", { tag: "F", value: table }]]),
      mechanism: "PLAIN",
      response: encodeText("\0guest\0guest"),
      locale: "en_US",
    });
    const tune = (await line.#answer(M.CONNECTION_TUNE)).args as M.ConnectionTune;
    line.send(M.CONNECTION_TUNE_OK, 0, { ...tune, heartbeat: 0 });
    line.frameMax = tune.frameMax;
    line.send(M.CONNECTION_OPEN, 0, { virtualHost: "/" });
    await line.#answer(M.CONNECTION_OPEN_OK);
    return line;
  }

  override arrived(incoming: Incoming): void {
    const { key, channel } = incoming;
    if (key === M.CHANNEL_FLOW_OK) {
      this.#fences--;
      return;
    }
    if (key === M.CHANNEL_OPEN_OK) this.open.add(channel);
    if (key === M.CHANNEL_CLOSE_OK) this.open.delete(channel);
    if (key === M.CHANNEL_CLOSE) {
      this.open.delete(channel);
      this.#reply(() => this.send(M.CHANNEL_CLOSE_OK, channel));
    }
    if (key === M.CONNECTION_CLOSE) {
      this.open.clear();
      this.isClosing = true;
      this.#reply(() => this.send(M.CONNECTION_CLOSE_OK, 0));
    }
    if (key === M.CHANNEL_OPEN_OK || channel === 0) this.inbox.push(incoming);
    this.observe(incoming);
  }

  #reply(send: () => void): void {
    if (this.#delayed === null) send();
    else this.#delayed.push(send);
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  async #answer(key: number): Promise<Incoming> {
    const isHere = (one: Incoming) => one.key === key;
    await this.until(() => this.inbox.some(isHere));
    const index = this.inbox.findIndex(isHere);
    if (index < 0) throw new Error(`no ${M.METHODS.get(key)!.name}, but ${this.describe()}`);
    return this.inbox.splice(index, 1)[0]!;
  }

  /** Waits until something is true, the line has ended or the time is over; says whether it is true. */
  async until(isTrue: () => boolean): Promise<boolean> {
    const deadline = Date.now() + ANSWER_MS_MAX;
    while (!isTrue() && !this.isEnded && Date.now() < deadline) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - Date.now());
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return isTrue();
  }

  /** Opens a channel. */
  async openChannel(channel: number): Promise<void> {
    this.send(M.CHANNEL_OPEN, channel);
    await this.#answer(M.CHANNEL_OPEN_OK);
  }

  /** Sends bytes in the writes that `cuts` make of them. */
  async sendCut(bytes: Uint8Array, cuts: readonly number[]): Promise<void> {
    const delayed: (() => void)[] = [];
    this.#delayed = delayed;
    let from = 0;
    for (const cut of cuts) {
      const to = Math.floor(bytes.length * cut);
      if (to <= from) continue;
      this.raw(bytes.subarray(from, to));
      from = to;
      // Both ends have to have a chance to see this write alone.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    this.raw(bytes.subarray(from));
    this.#delayed = null;
    for (const send of delayed) send();
  }

  /** Waits until everything sent on these channels has been handled, and what was on its way is here. */
  async fence(channels: Iterable<number>): Promise<void> {
    const asked = [...channels].filter((channel) => this.open.has(channel));
    this.#fences = asked.length;
    for (const channel of asked) this.raw(methodFrame(M.CHANNEL_FLOW, channel, { active: true }));
    // A channel that is closed meanwhile answers no more.
    await this.until(() => this.#fences <= asked.filter((one) => !this.open.has(one)).length);
  }

  /** Ends the connection after so many farewells; says how many were answered. */
  async end(farewellCount: number): Promise<number> {
    const answered = () => this.inbox.filter(({ key }) => key === M.CONNECTION_CLOSE_OK).length;
    if (farewellCount > 0 && !this.isEnded) {
      const args = { replyCode: 200, replyText: "", classId: 0, methodId: 0 };
      const close = methodFrame(M.CONNECTION_CLOSE, 0, args);
      this.raw(joined(Array(farewellCount).fill(close)));
      await this.until(() => answered() === farewellCount);
    }
    this.#socket.destroy();
    this.open.clear();
    this.isEnded = true;
    return answered();
  }
}
