// One client: its stream, its state and its channels. The engine reports input and the end of turns to
// it; the frame switch and the handlers act for the client through it. Every error ends here in a
// channel.close, in a connection.close or, if the broker itself failed, in the engine.

import { replyText } from "../amqp/errors.ts";
import {
  FRAME_MAX_MIN,
  FRAME_OVERHEAD,
  PROTOCOL_HEADER,
  ProtocolHeaderMatcher,
} from "../amqp/frame.ts";
import { writeConnectionClose, writeConnectionCloseOk } from "../amqp/methods_gen.ts";
import { EMPTY_TABLE, type FieldTable } from "../amqp/field_value.ts";
import type { Owner } from "../broker/names.ts";
import type { Publisher } from "../broker/publish/publisher.ts";
import type { User } from "../broker/access/users.ts";
import type { VHost } from "../broker/topology/vhost.ts";
import type { ByteWriter } from "../lib/byte_writer.ts";
import type { Channel } from "./channel.ts";
import { logGone, logNotAmqp } from "./close_log.ts";
import { CloseOkSearch } from "./close_ok_search.ts";
import {
  STATE_CLOSED,
  STATE_CLOSING,
  STATE_HEADER,
  STATE_LEAVING,
  STATE_REFUSED,
  STATE_RUNNING,
  STATE_STARTING,
} from "./connection_state.ts";
import type { SessionContext } from "./context.ts";
import { handleFailure, handleInternalFailure } from "./failure.ts";
import { sendStart } from "./handshake.ts";
import { Heartbeat } from "./heartbeat.ts";
import { HeldMemory } from "./held_memory.ts";
import { HOLD_LOGIN, HOLD_OUTPUT, Input } from "./input.ts";
import { Outbox } from "./outbox.ts";
import { OutputGate } from "./output_gate.ts";
import type { ClientCapabilities } from "./server_properties.ts";
import { NO_CAPABILITIES } from "./server_properties.ts";
import type { Transport, TransportInfo } from "./transport.ts";

/** How long a client may take to answer connection.close, or to take its last output, ms. */
const CLOSE_GRACE_MS = 10_000;
/** How long a client may take to end its stream after its connection.close was answered, ms. */
const LEAVE_GRACE_MS = 1000;

/** One accepted stream and all state that belongs to it. */
export class Connection implements Owner {
  readonly id: number;
  readonly name: string;
  readonly info: TransportInfo;
  readonly context: SessionContext;
  readonly input: Input;
  readonly outbox: Outbox;
  readonly memory: HeldMemory = new HeldMemory(this);
  /** One of `STATE_*`. */
  state: number = STATE_HEADER;
  user: User | null = null;
  vhost: VHost | null = null;
  clientProperties: FieldTable = EMPTY_TABLE;
  capabilities: ClientCapabilities = NO_CAPABILITIES;
  channelMax: number;
  frameMax: number;
  /** Largest frame payload that we send, bytes. */
  framePayloadMax: number = FRAME_MAX_MIN - FRAME_OVERHEAD;
  readonly heartbeat: Heartbeat;
  readonly connectedAtMs: number;
  /** Channels by number. */
  readonly channels: (Channel | undefined)[] = [];
  channelCount = 0;
  /** The method being handled, which an error names; 0 when there is none. */
  methodKey = 0;
  /** The channel whose unfinished publish may point into the input. */
  attached: Channel | null = null;
  /** The round of the engine in which input was run last. */
  round = 0;
  /** Bytes of input run in that round. */
  roundBytes = 0;
  /** Messages published since `run` began. */
  publishedCount = 0;
  /** The publisher of the last of these messages. */
  publisher: Publisher | null = null;
  /** Work of the current frame that its size does not show, as bytes of input. */
  chargedBytes = 0;
  /** Whether the engine lists this connection among those with input to run. */
  isQueued = false;
  /** Whether the connection counts as not logged in. */
  isNewcomer = true;
  /** Whether the connection has been counted as open. */
  isOpen = false;
  readonly #transport: Transport;
  readonly #header = new ProtocolHeaderMatcher();
  /** Action at the deadline, instead of dropping the stream. */
  #postponed: (() => void) | null = null;
  #closeOk: CloseOkSearch | null = null;
  #isTouched = false;
  readonly #gate: OutputGate;
  #endsAfterFlush = false;
  #isReleased = false;
  #failure: unknown = null;

  constructor(id: number, transport: Transport, info: TransportInfo, context: SessionContext) {
    const { limits } = context;
    this.id = id;
    this.info = info;
    this.name = `${info.peerHost}:${info.peerPort} -> ${info.localHost}:${info.localPort}`;
    this.context = context;
    this.#transport = transport;
    this.input = new Input(transport, FRAME_MAX_MIN);
    this.outbox = new Outbox(transport, context.pool);
    this.#gate = new OutputGate(this);
    this.channelMax = limits.channelMax;
    this.frameMax = limits.frameBytesMax;
    this.input.parser.frameMax = FRAME_MAX_MIN;
    this.connectedAtMs = context.broker.nowMs;
    this.heartbeat = new Heartbeat(this);
    context.timers.setDeadline(this, limits.handshakeMs);
  }

  // Input

  /** Takes bytes that came; `run` handles them. */
  received(bytes: Uint8Array): void {
    this.heartbeat.heardAtMs = this.context.broker.nowMs;
    this.input.receivedBytes += bytes.length;
    if (this.state >= STATE_REFUSED) return;
    if (this.#closeOk !== null) {
      if (this.#closeOk.offer(bytes)) this.end();
    } else if (this.state === STATE_HEADER) this.#receiveHeader(bytes);
    else this.input.push(bytes);
  }

  #receiveHeader(bytes: Uint8Array): void {
    const used = this.#header.offer(bytes, 0, bytes.length);
    if (this.#header.state === "refused") {
      logNotAmqp(this);
      this.writer().all(PROTOCOL_HEADER);
      this.end();
    } else if (this.#header.state === "accepted") {
      this.state = STATE_STARTING;
      sendStart(this);
      this.input.push(bytes.subarray(used));
    }
  }

  /** Runs whole frames until about `bytesMax` bytes are spent. Returns how many bytes were spent. */
  run(bytesMax: number): number {
    let spent = 0;
    this.publishedCount = 0;
    while (spent < bytesMax && this.#canRun()) {
      try {
        spent += this.#runFrames(bytesMax - spent);
      } catch (error) {
        handleFailure(this, error);
        spent += this.input.parser.frameByteCount;
      }
    }
    const queue = this.publishedCount > 0 ? this.publisher!.target : null;
    if (queue !== null) this.context.admission.published(this, queue, this.publishedCount);
    return spent;
  }

  // A few bytes of input may cause megabytes of answers, which must leave before more input is run.
  #canRun(): boolean {
    const { byteCount } = this.outbox.writer;
    return this.input.isRunnable && byteCount <= this.context.limits.outboxBytesMax;
  }

  #runFrames(bytesMax: number): number {
    const { input } = this;
    const { parser } = input;
    const { handleFrame } = this.context;
    let spent = 0;
    do {
      this.methodKey = 0;
      while (parser.next()) {
        spent += parser.frameByteCount;
        handleFrame(this, parser);
        if (this.chargedBytes > 0) {
          spent += this.chargedBytes;
          this.chargedBytes = 0;
        }
        if (spent >= bytesMax || !this.#canRun()) return spent;
        this.methodKey = 0;
      }
      this.attached?.detach();
      this.attached = null;
    } while (input.advance());
    return spent;
  }

  // Output

  /** Returns the outbox's writer, ready for frames of this turn. */
  writer(): ByteWriter {
    if (!this.#isTouched) this.touch();
    return this.outbox.writer;
  }

  /** Has the engine flush the connection when the turn ends. */
  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    this.outbox.open();
    this.context.touched.push(this);
  }

  /** Whether the client may be given one more delivery, which may be large. */
  hasOutputCapacity(isLarge: boolean): boolean {
    return this.#failure === null && this.#gate.admits(isLarge);
  }

  /** Does the one write of the turn and holds the input if the transport has too much output. */
  flush(): void {
    this.#isTouched = false;
    if (this.state === STATE_CLOSED && !this.#endsAfterFlush) {
      this.outbox.discard();
      return;
    }
    if (this.outbox.flush(this.context.broker.nowMs)) this.heartbeat.wrote();
    if (this.#endsAfterFlush) {
      this.#endsAfterFlush = false;
      this.#transport.end();
      return;
    }
    if (this.outbox.pendingBytes > this.context.limits.outboxBytesMax) {
      this.input.holds |= HOLD_OUTPUT;
    }
    this.memory.report();
    this.input.sync();
  }

  /** Called when the transport has written all output. */
  drained(): void {
    this.outbox.drained();
    this.memory.report();
    this.unhold(HOLD_OUTPUT);
  }

  // Holds

  /** Stops running input for a reason of `HOLD_*`. */
  hold(reason: number): void {
    if ((this.input.holds & reason) !== 0) return;
    this.input.holds |= reason;
    this.context.unreadPeers.held(this, reason);
    this.touch();
  }

  /** Removes a reason. When none is left, the remaining input is run. */
  unhold(reason: number): void {
    if ((this.input.holds & reason) === 0) return;
    this.input.holds &= ~reason;
    this.context.unfinished.resumed(this);
    this.heartbeat.heardAtMs = this.context.broker.nowMs;
    this.touch();
    this.enqueue();
  }

  /** During the handshake: runs no input for `delayMs`, then calls `act`. */
  postpone(delayMs: number, act: () => void): void {
    this.hold(HOLD_LOGIN);
    this.#postponed = act;
    this.context.timers.setDeadline(this, delayMs);
  }

  /** Has the engine run the remaining input in a later turn. */
  enqueue(): void {
    if (this.isQueued || !this.input.isRunnable) return;
    this.isQueued = true;
    this.context.runnable.push(this);
  }

  // Ends

  /**
   * Records an error that was thrown where the connection cannot be ended; it ends when the turn is
   * over.
   */
  failLater(error: unknown): void {
    if (this.#failure === null) this.context.failing.push(this);
    this.#failure ??= error;
  }

  /** Ends the connection because of the error that `failLater` has recorded. */
  endFailed(): void {
    if (this.state < STATE_CLOSING) handleInternalFailure(this, this.#failure);
  }

  /** Sends connection.close and waits for close-ok. */
  close(code: number, text: string, blame: { classId: number; methodId: number }): void {
    if (this.state >= STATE_CLOSING) return;
    this.release();
    this.state = STATE_CLOSING;
    this.input.holds = 0;
    this.context.timers.setDeadline(this, CLOSE_GRACE_MS);
    writeConnectionClose(this.writer(), 0, { replyCode: code, replyText: text, ...blame });
    this.enqueue();
  }

  /** Ends the connection because an operator or the stop of the node asks for it. */
  force(code: number, detail: string): void {
    if (this.state === STATE_RUNNING) {
      this.close(code, replyText(code, detail), { classId: 0, methodId: 0 });
    } else if (this.state < STATE_RUNNING) this.destroy();
    else if (this.state === STATE_LEAVING) this.end();
  }

  /** Searches further bytes for close-ok only, because frames can no longer be told apart. */
  stopParsing(): void {
    this.#closeOk ??= new CloseOkSearch();
    this.input.clear();
    this.attached = null;
  }

  /**
   * Answers the client's connection.close when all that the client had has been given back. Then the
   * client ends the stream, or we do after a short time: a client that closes twice would take our end
   * for a broken connection.
   */
  leave(): void {
    const { timers, settling } = this.context;
    const isFirst = this.state < STATE_LEAVING;
    if (isFirst) {
      this.release();
      this.state = STATE_LEAVING;
      this.input.holds = 0;
      timers.clearDeadline(this);
    }
    settling.whenDone(this, () => {
      if (this.state !== STATE_LEAVING) return;
      writeConnectionCloseOk(this.writer(), 0);
      if (isFirst) timers.setDeadline(this, LEAVE_GRACE_MS);
    });
  }

  /** Ends the stream after the output that has been written. */
  end(): void {
    if (this.state === STATE_CLOSED) return;
    this.release();
    this.writer();
    this.state = STATE_CLOSED;
    this.input.clear();
    this.input.sync();
    this.#endsAfterFlush = true;
    this.context.timers.setDeadline(this, CLOSE_GRACE_MS);
  }

  /** Sends nothing more and drops the stream at the deadline. */
  refuse(delayMs: number): void {
    this.state = STATE_REFUSED;
    this.input.clear();
    this.context.timers.setDeadline(this, delayMs);
  }

  /** Drops the stream at once. */
  destroy(): void {
    this.release();
    this.state = STATE_CLOSED;
    this.#endsAfterFlush = false;
    this.input.clear();
    this.outbox.discard();
    this.#transport.destroy();
  }

  /** Called when the stream is gone. */
  closed(): void {
    if (this.state === STATE_RUNNING) logGone(this);
    this.release();
    this.state = STATE_CLOSED;
    this.#endsAfterFlush = false;
    this.input.clear();
    this.outbox.discard();
    this.context.timers.clearDeadline(this);
    this.memory.changeContent(-this.memory.contentBytes);
    this.context.newcomers.left(this);
  }

  /** Gives back everything that the client had: channels, then its exclusive queues. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const { context, vhost } = this;
    context.timers.clearHeartbeat(this);
    if (this.isOpen) context.openCount--;
    for (const channel of this.channels) channel?.release();
    this.channels.length = 0;
    this.channelCount = 0;
    this.attached = null;
    context.unfinished.gone(this);
    if (vhost === null) return;
    context.settling.whenDone(this, () => context.zone.run(() => vhost.deleteExclusive(this)));
  }

  /** Forgets a channel that is closed on both sides. Its number may be used again. */
  removeChannel(channel: Channel): void {
    if (this.attached === channel) this.attached = null;
    this.channels[channel.number] = undefined;
    this.channelCount--;
  }

  // Timers

  /**
   * Runs a postponed action, or ends the connection: its handshake, refusal or close has taken too
   * long.
   */
  onDeadline(): void {
    const act = this.#postponed;
    if (act !== null) {
      this.#postponed = null;
      this.context.timers.setDeadline(this, this.context.limits.handshakeMs);
      this.unhold(HOLD_LOGIN);
      return act();
    }
    if (this.state === STATE_LEAVING) return this.end();
    if (this.state < STATE_RUNNING) {
      this.context.logger.log("warn", "handshake took too long", { connection: this.name });
    }
    this.destroy();
  }
}
