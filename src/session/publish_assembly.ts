// One publish of one channel while its frames arrive: method, content header, body frames. Parts that
// lie whole in the input are only pointed at; others are copied as they arrive, so memory follows the
// bytes that really arrived and never the announced size. The channel publishes the complete message.
//
//   IDLE ── basic.publish ──> HEADER ── content header ──> BODY ── body frames ──> IDLE
//                                            └── body of 0 bytes ─────────────────>

import type { ContentHeader } from "../amqp/content_header.ts";
import { ConnectionError } from "../amqp/errors.ts";
import { UNEXPECTED_FRAME } from "../amqp/reply_code.ts";
import { emptySource, type MessageSource } from "../broker/publish/publisher.ts";
import { copyBytes, dropBytes, EMPTY_BYTES } from "../lib/bytes.ts";

/** No publish has begun. */
export const ASSEMBLY_IDLE = 0;
/** The method has arrived, the content header has not. */
export const ASSEMBLY_HEADER = 1;
/** Body bytes are missing. */
export const ASSEMBLY_BODY = 2;

/** Collects one publish after another. */
export class PublishAssembly {
  /** One of `ASSEMBLY_*`. */
  state = ASSEMBLY_IDLE;
  /** Whether an unroutable message is returned. */
  mandatory = false;
  /** The message. It is complete when the state is idle again. */
  readonly source: MessageSource = emptySource();
  /** Bytes of memory that an unfinished publish uses. */
  heldBytes = 0;
  /** Body bytes of the unfinished publish that have arrived. */
  receivedBytes = 0;
  #isAttached = false;
  #bodyBytes = 0;
  #headBytes = 0;
  #stage: Uint8Array = EMPTY_BYTES;

  /** Takes the method: `bytes[start, end)` holds exchange and routing key as two short strings. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    const { source } = this;
    source.address = bytes;
    source.addressStart = start;
    source.addressEnd = end;
    this.state = ASSEMBLY_HEADER;
    this.#isAttached = true;
  }

  /** Takes the content header, whose properties lie in `bytes`. */
  header(bytes: Uint8Array, header: ContentHeader): void {
    const { source } = this;
    source.properties = bytes;
    source.propertiesStart = header.propertiesStart;
    source.propertiesEnd = header.propertiesEnd;
    this.#isAttached = true;
  }

  /** Announces the size of the body. Returns true when no body follows. */
  expectBody(byteCount: number): boolean {
    this.#bodyBytes = byteCount;
    this.receivedBytes = 0;
    this.source.body = EMPTY_BYTES;
    this.source.bodyStart = 0;
    this.source.bodyEnd = 0;
    this.state = byteCount === 0 ? ASSEMBLY_IDLE : ASSEMBLY_BODY;
    return byteCount === 0;
  }

  /** Takes a body frame. Returns true when it completes the publish. */
  body(bytes: Uint8Array, start: number, end: number): boolean {
    const received = this.receivedBytes + end - start;
    if (received > this.#bodyBytes) {
      throw new ConnectionError(UNEXPECTED_FRAME, "content body is longer than announced");
    }
    const { source } = this;
    if (this.receivedBytes === 0 && received === this.#bodyBytes) {
      source.body = bytes;
      source.bodyStart = start;
      source.bodyEnd = end;
      this.state = ASSEMBLY_IDLE;
      return true;
    }
    this.#append(bytes, start, end);
    if (received < this.#bodyBytes) return false;
    source.body = this.#stage;
    source.bodyStart = 0;
    source.bodyEnd = received;
    this.state = ASSEMBLY_IDLE;
    return true;
  }

  // Doubles the memory, but not beyond the announced size, so that it is at most twice what has
  // arrived.
  #append(bytes: Uint8Array, start: number, end: number): void {
    const received = this.receivedBytes + end - start;
    if (received > this.#stage.length) {
      const capacity = Math.max(received, Math.min(this.#bodyBytes, this.receivedBytes * 2));
      const grown = new Uint8Array(capacity);
      grown.set(this.#stage.subarray(0, this.receivedBytes));
      this.heldBytes += grown.length - this.#stage.length;
      dropBytes(this.#stage);
      this.#stage = grown;
    }
    copyBytes(this.#stage, this.receivedBytes, bytes, start, end);
    this.receivedBytes = received;
  }

  /** Copies the parts that still point into the input, because the chunk is about to be dropped. */
  detach(): void {
    if (this.state === ASSEMBLY_IDLE || !this.#isAttached) return;
    this.#isAttached = false;
    const { source } = this;
    const addressBytes = source.addressEnd - source.addressStart;
    const hasProperties = this.state === ASSEMBLY_BODY;
    const propertyBytes = hasProperties ? source.propertiesEnd - source.propertiesStart : 0;
    const head = new Uint8Array(addressBytes + propertyBytes);
    this.heldBytes += head.length - this.#headBytes;
    this.#headBytes = head.length;
    copyBytes(head, 0, source.address, source.addressStart, source.addressEnd);
    source.address = head;
    source.addressStart = 0;
    source.addressEnd = addressBytes;
    if (!hasProperties) return;
    copyBytes(head, addressBytes, source.properties, source.propertiesStart, source.propertiesEnd);
    source.properties = head;
    source.propertiesStart = addressBytes;
    source.propertiesEnd = addressBytes + propertyBytes;
  }

  /** Releases all memory: the publish is finished or given up. */
  reset(): void {
    this.state = ASSEMBLY_IDLE;
    this.receivedBytes = 0;
    this.#bodyBytes = 0;
    if (this.#stage.length > 0) dropBytes(this.#stage);
    this.#stage = EMPTY_BYTES;
    this.#headBytes = 0;
    this.heldBytes = 0;
    this.release();
  }

  /** Forgets the bytes of the message, so that they do not keep the input in memory. */
  release(): void {
    const { source } = this;
    source.address = EMPTY_BYTES;
    source.properties = EMPTY_BYTES;
    source.body = EMPTY_BYTES;
  }
}
