// Publishing: stores a message of a channel in the queues that take it. Each channel has one Publisher,
// which remembers its last route, so that publishing allocates nothing while exchange and key stay the
// same. It reads properties in place and never writes frames or confirms.

import { ChannelError, ConnectionError } from "../../amqp/errors.ts";
import { BCC_KEY, CC_KEY, DELIVERY_COUNT_KEY } from "../../amqp/header_keys.ts";
import {
  PROPERTY_DELIVERY_MODE,
  PROPERTY_EXPIRATION,
  PROPERTY_HEADERS,
  PROPERTY_PRIORITY,
} from "../../amqp/properties.ts";
import { RawProperties } from "../../amqp/raw_properties.ts";
import { ACCESS_REFUSED, FRAME_ERROR, NOT_FOUND } from "../../amqp/reply_code.ts";
import { copyBytes } from "../../lib/bytes.ts";
import { decodeTextStrict } from "../../lib/text.ts";
import {
  type MessageSource,
  RECORD_BCC,
  RECORD_FORGED_COUNT,
  RECORD_PERSISTENT,
} from "../../store/port.ts";
import type { Exchange } from "../routing/exchange.ts";
import { parseExpiration } from "./expiration.ts";
import { checkedKeys } from "../routing/extra_keys.ts";
import { describe } from "../names.ts";
import type { Queue } from "../queue/queue.ts";
import { type RouteMessage, RouteResult } from "../routing/route.ts";
import type { VHost } from "../topology/vhost.ts";

export type { MessageSource } from "../../store/port.ts";
export { emptySource } from "../../store/views.ts";

/** At least one queue matched. */
export const PUBLISH_ROUTED = 1;
/** A queue that matched was full and refused the message: the publisher gets a nack. */
export const PUBLISH_OVERFLOWED = 2;
/** The message is safe only when the store's open batch is safe, so its confirm must wait. */
export const PUBLISH_LOGGED = 4;
/** The message cannot be stored at the moment and is in no queue. */
export const PUBLISH_REFUSED = 8;

const READ_PROPERTIES = PROPERTY_DELIVERY_MODE | PROPERTY_EXPIRATION | PROPERTY_PRIORITY;
// Two short strings of 256 bytes each.
const ADDRESS_BYTES_MAX = 512;

/** Publishes the messages of one channel. */
export class Publisher implements RouteMessage {
  readonly #vhost: VHost;
  readonly #properties = new RawProperties();
  readonly #route = new RouteResult();
  readonly #address = new Uint8Array(ADDRESS_BYTES_MAX);
  #addressBytes = 0;
  #exchange: Exchange | null = null;
  /** Topology epoch at which `#route` was found; -1 if the route holds for one message only. */
  #routeEpoch = -1;
  // Only the first `#takerCount` are valid: emptying an array would release its storage at every
  // message.
  readonly #takers: Queue[] = [];
  #takerCount = 0;
  readonly #refusers: Queue[] = [];
  #refuserCount = 0;

  // The message being routed, as exchanges see it.
  routingKey = "";
  extraKeys: readonly string[] | null = null;

  constructor(vhost: VHost) {
    this.#vhost = vhost;
  }

  /** The first queue of the last message's route; null when it has none. */
  get target(): Queue | null {
    return this.#route.count > 0 ? this.#route.queues[0]! : null;
  }

  /** How many queues the last message was routed to. */
  get routeCount(): number {
    return this.#route.count;
  }

  /** See {@link RouteMessage}. */
  headers(): ReturnType<RouteMessage["headers"]> {
    return this.#properties.headers() ?? null;
  }

  /**
   * Does the checks of `publish` without storing. A transaction refuses its messages when they arrive
   * and not at its commit.
   * @throws as `publish`
   */
  check(source: MessageSource): void {
    source.flags = 0;
    source.priority = 0;
    source.arrivalMs = this.#vhost.broker.nowMs;
    source.expiryMs = Infinity;
    const exchange = this.#findExchange(source);
    this.#readProperties(source);
    if (exchange !== null) this.#findRoute(exchange);
    else if (this.extraKeys !== null) this.#findRoute(this.#exchange!);
  }

  /**
   * Refuses a message whose exchange cannot be published to. Called before a message is refused for
   * another reason, because RabbitMQ checks the exchange first.
   * @throws as `publish`
   */
  checkExchange(source: MessageSource): void {
    this.#findExchange(source);
  }

  /**
   * Stores the message in every queue that it is routed to. Fills in the flags and times of `source`.
   * @returns bits of `PUBLISH_*`
   * @throws ChannelError 404 unknown exchange, 403 internal exchange, 406 bad expiration or CC/BCC
   * @throws ConnectionError 502 when the properties do not decode, 501 when the names are not UTF-8
   */
  publish(source: MessageSource): number {
    const { broker } = this.#vhost;
    this.check(source);
    const bodyBytes = source.bodyEnd - source.bodyStart;
    broker.metrics.published++;
    broker.metrics.publishedBytes += bodyBytes;
    const route = this.#route;
    if (route.count === 0) return 0;
    const holderCount = this.#collectTakers(bodyBytes);
    let outcome = PUBLISH_ROUTED;
    if (this.#takerCount < route.count) outcome |= PUBLISH_OVERFLOWED;
    if (holderCount === 0) return outcome;
    if (broker.store.isReadOnly && this.#isDurable(source)) return outcome | PUBLISH_REFUSED;
    if (this.#properties.has(PROPERTY_HEADERS)) this.#markForgedCount(source);
    return outcome | this.#store(source, holderCount);
  }

  #readProperties(source: MessageSource): void {
    const properties = this.#properties;
    properties.set(source.properties, source.propertiesStart, source.propertiesEnd);
    properties.check();
    this.extraKeys = null;
    if ((properties.flags & READ_PROPERTIES) !== 0) {
      if (properties.isPersistent()) source.flags |= RECORD_PERSISTENT;
      source.priority = properties.priority();
      if (properties.find(PROPERTY_EXPIRATION)) {
        const { bytes, valueStart, valueEnd } = properties;
        source.expiryMs = source.arrivalMs + parseExpiration(bytes, valueStart, valueEnd);
      }
    }
    if (properties.has(PROPERTY_HEADERS)) this.#readExtraKeys(source);
  }

  #readExtraKeys(source: MessageSource): void {
    const properties = this.#properties;
    const hasBcc = properties.findHeader(BCC_KEY);
    if (!hasBcc && !properties.findHeader(CC_KEY)) return;
    const keys = checkedKeys("CC", properties.header(CC_KEY));
    keys.push(...checkedKeys("BCC", properties.header(BCC_KEY)));
    if (keys.length > 0) this.extraKeys = keys;
    if (hasBcc) source.flags |= RECORD_BCC;
  }

  // Returns null when the last route found is still the route of this address.
  #findExchange(source: MessageSource): Exchange | null {
    if (!this.#isCachedAddress(source)) this.#cacheAddress(source);
    else if (this.#routeEpoch === this.#vhost.topologyEpoch) return null;
    return this.#accessExchange(source);
  }

  #findRoute(exchange: Exchange): void {
    const route = this.#route;
    route.reset();
    this.#routeEpoch = -1;
    this.#vhost.route(exchange, this, route);
    if (route.isCacheable && this.extraKeys === null) this.#routeEpoch = this.#vhost.topologyEpoch;
  }

  #isCachedAddress(source: MessageSource): boolean {
    const { address, addressStart } = source;
    const addressBytes = source.addressEnd - addressStart;
    if (addressBytes !== this.#addressBytes) return false;
    const cached = this.#address;
    for (let index = 0; index < addressBytes; index++) {
      if (cached[index] !== address[addressStart + index]) return false;
    }
    return true;
  }

  #cacheAddress(source: MessageSource): void {
    const { address, addressStart, addressEnd } = source;
    copyBytes(this.#address, 0, address, addressStart, addressEnd);
    this.#addressBytes = addressEnd - addressStart;
    const keyStart = 1 + this.#address[0]!;
    this.#exchange = null;
    this.#routeEpoch = -1;
    this.routingKey = nameIn(this.#address, keyStart + 1, this.#addressBytes);
  }

  #accessExchange(source: MessageSource): Exchange {
    const cached = this.#exchange;
    if (cached !== null && this.#vhost.exchanges.get(cached.name) === cached) return cached;
    const { address, addressStart } = source;
    const name = nameIn(address, addressStart + 1, addressStart + 1 + address[addressStart]!);
    const exchange = this.#vhost.exchanges.get(name);
    if (exchange === undefined) {
      const detail = `no ${describe("exchange", name, this.#vhost.name)}`;
      throw new ChannelError(NOT_FOUND, detail);
    }
    if (exchange.internal) {
      const detail = `cannot publish to internal ${describe("exchange", name, this.#vhost.name)}`;
      throw new ChannelError(ACCESS_REFUSED, detail);
    }
    this.#exchange = exchange;
    return exchange;
  }

  // Sorts the matching queues into those that take the message and those that dead-letter it instead.
  // Returns how many queues will hold it.
  #collectTakers(bodyBytes: number): number {
    const route = this.#route;
    let takerCount = 0;
    let refuserCount = 0;
    for (let index = 0; index < route.count; index++) {
      const queue = route.queues[index]!;
      if (queue.ready.admits(bodyBytes)) this.#takers[takerCount++] = queue;
      else if (queue.args.overflow === "reject-publish-dlx") this.#refusers[refuserCount++] = queue;
    }
    this.#takerCount = takerCount;
    this.#refuserCount = refuserCount;
    return takerCount + refuserCount;
  }

  #isDurable(source: MessageSource): boolean {
    if ((source.flags & RECORD_PERSISTENT) === 0) return false;
    for (let index = 0; index < this.#takerCount; index++) {
      if (this.#takers[index]!.durable) return true;
    }
    return false;
  }

  #markForgedCount(source: MessageSource): void {
    for (let index = 0; index < this.#takerCount; index++) {
      if (!this.#takers[index]!.keepsCount) continue;
      if (this.#properties.findHeader(DELIVERY_COUNT_KEY)) source.flags |= RECORD_FORGED_COUNT;
      return;
    }
  }

  #store(source: MessageSource, holderCount: number): number {
    const { store } = this.#vhost.broker;
    const ref = store.append(source, holderCount);
    const bodyBytes = source.bodyEnd - source.bodyStart;
    const isLogged = store.entries !== null && (source.flags & RECORD_PERSISTENT) !== 0;
    let outcome = 0;
    const takers = this.#takers;
    for (let index = 0; index < this.#takerCount; index++) {
      const queue = takers[index]!;
      queue.ready.accept(ref, bodyBytes, source.expiryMs, source.flags);
      if (isLogged && queue.durable) outcome = PUBLISH_LOGGED;
    }
    const refusers = this.#refusers;
    for (let index = 0; index < this.#refuserCount; index++) {
      refusers[index]!.deadLetter(ref, -1, 0, "maxlen");
    }
    return outcome;
  }
}

// Like every short string that is decoded, the names of a publish must be UTF-8.
function nameIn(bytes: Uint8Array, start: number, end: number): string {
  const name = decodeTextStrict(bytes, start, end);
  if (name === undefined) throw new ConnectionError(FRAME_ERROR, "Malformed UTF-8 in shortstr");
  return name;
}
