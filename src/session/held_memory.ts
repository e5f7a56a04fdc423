// Memory that one connection uses besides messages: unfinished content, which has a limit, and waiting
// output. The connection makes it; the connection and its channels report changes to it. It counts
// toward the node's memory watermark and toward the share of unfinished content.

import { ConnectionError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { Connection } from "./connection.ts";

/** The entry of a connection in the broker's memory account. */
export class HeldMemory {
  /** Bytes of unfinished content. */
  contentBytes = 0;
  readonly #connection: Connection;
  #reportedBytes = 0;
  /** The part of the reported bytes that is waiting output. */
  #outputBytes = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Changes the bytes of unfinished content. @throws ConnectionError when they exceed the limit */
  changeContent(deltaBytes: number): void {
    const { context } = this.#connection;
    this.contentBytes += deltaBytes;
    this.report();
    context.unfinished.changed(this.#connection, deltaBytes);
    const limit = context.limits.unfinishedBytesMax;
    if (deltaBytes > 0 && this.contentBytes > limit) {
      const detail = `connection holds more than ${limit} bytes of unfinished content`;
      throw new ConnectionError(RESOURCE_ERROR, detail);
    }
  }

  /** Reports the current bytes, waiting output included, to the broker. */
  report(): void {
    const { context, outbox } = this.#connection;
    const outputBytes = outbox.waitingBytes;
    context.output.bytes += outputBytes - this.#outputBytes;
    this.#outputBytes = outputBytes;
    const bytes = this.contentBytes + outputBytes;
    context.broker.extraMemoryBytes += bytes - this.#reportedBytes;
    this.#reportedBytes = bytes;
  }
}
