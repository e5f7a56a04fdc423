// Memory one connection takes besides messages: unfinished content, which has a limit, and output that
// waits. Made by the connection and told by it and its channels; counted toward the node's memory
// watermark and toward the share of content under way.

import { ConnectionError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { Connection } from "./connection.ts";

/** An entry in the broker's account of memory. */
export class HeldMemory {
  /** Bytes of unfinished content. */
  contentBytes = 0;
  readonly #connection: Connection;
  #reportedBytes = 0;
  /** Of those, the output that waits. */
  #outputBytes = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Storage of unfinished content has grown or shrunk; over the limit is a hard error. */
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

  /** Tells the broker how much it is now, together with the output that waits. */
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
