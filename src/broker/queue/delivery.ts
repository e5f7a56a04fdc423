// One message on its way to a consumer or to basic.get: where its bytes are and what the broker knows
// about it. A broker has a single Delivery and fills it for every message. The receiver copies what it
// needs before it returns.

import { ByteWriter } from "../../lib/byte_writer.ts";
import { BCC_KEY } from "../../amqp/header_keys.ts";
import { RawProperties } from "../../amqp/raw_properties.ts";
import { writePropertiesWithout } from "../../amqp/rewrite_properties.ts";
import {
  ENTRY_COUNT_MASK,
  ENTRY_REDELIVERED,
  RECORD_BCC,
  RECORD_FORGED_COUNT,
  type RecordView,
} from "../../store/port.ts";
import { emptyView } from "../../store/views.ts";
import type { Queue } from "./queue.ts";

/** The message being delivered; valid only during the call that hands it out. */
export class Delivery {
  /** Exchange, routing key, properties and body as they are sent, except for the delivery count. */
  readonly view: RecordView = emptyView();
  queue!: Queue;
  ref = 0;
  position = 0;
  entry = 0;
  bodyBytes = 0;
  /** Bytes of the content header, set when a get finds that it is too large for the client. */
  headerBytes = 0;
  /** The `redelivered` bit to send. */
  redelivered = false;
  /** Value of the `x-delivery-count` header to write in place of any other; 0 = write none. */
  deliveryCount = 0;
  /** Whether the headers hold a forged `x-delivery-count` that must be left out. */
  stripsDeliveryCount = false;
  readonly #visible = new ByteWriter();
  readonly #properties = new RawProperties();

  /** Fills in the message whose record `view` already shows. */
  fill(queue: Queue, ref: number, position: number, entry: number): void {
    const view = this.view;
    this.queue = queue;
    this.ref = ref;
    this.position = position;
    this.entry = entry;
    this.bodyBytes = view.bodyEnd - view.bodyStart;
    this.redelivered = (entry & ENTRY_REDELIVERED) !== 0;
    this.deliveryCount = queue.keepsCount ? entry & ENTRY_COUNT_MASK : 0;
    this.stripsDeliveryCount = queue.keepsCount && (view.flags & RECORD_FORGED_COUNT) !== 0;
    if ((view.flags & RECORD_BCC) !== 0) this.#hideBcc();
  }

  // The record keeps its BCC keys for dead-lettering, but a delivered message must not show them.
  #hideBcc(): void {
    const view = this.view;
    const out = this.#visible;
    out.reset();
    out.range(view.bytes, view.addressStart, view.addressEnd);
    const propertiesStart = out.byteCount;
    this.#properties.set(view.bytes, view.propertiesStart, view.propertiesEnd);
    writePropertiesWithout(out, this.#properties, BCC_KEY);
    const bodyStart = out.byteCount;
    out.range(view.bytes, view.bodyStart, view.bodyEnd);
    view.bytes = out.bytes;
    view.addressStart = 0;
    view.addressEnd = propertiesStart;
    view.propertiesStart = propertiesStart;
    view.propertiesEnd = bodyStart;
    view.bodyStart = bodyStart;
    view.bodyEnd = out.byteCount;
  }
}
