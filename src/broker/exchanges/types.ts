// The exchange types by name, and the refusal of every other name. A new type is a file in this folder
// and a line here. RabbitMQ answers an unknown type with 406 since 3.13.

import { ChannelError } from "../../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";
import type { ExchangeType } from "../routing/contract.ts";
import { DIRECT } from "./direct.ts";
import { FANOUT } from "./fanout.ts";
import { HEADERS } from "./headers.ts";
import { TOPIC } from "./topic.ts";

const TYPES: ReadonlyMap<string, ExchangeType> = new Map(
  [DIRECT, FANOUT, HEADERS, TOPIC].map((type) => [type.name, type]),
);

// Types of RabbitMQ's plugins and of LavinMQ that users are likely to try.
const NOT_SUPPORTED_YET: ReadonlySet<string> = new Set([
  "x-consistent-hash",
  "x-delayed-exchange",
  "x-delayed-message",
  "x-federation-upstream",
  "x-jms-topic",
  "x-local-random",
  "x-modulus-hash",
  "x-random",
  "x-recent-history",
]);

/** Returns the type of this name. @throws ChannelError 406 when it does not exist */
export function exchangeType(name: string): ExchangeType {
  const type = TYPES.get(name);
  if (type !== undefined) return type;
  const detail = NOT_SUPPORTED_YET.has(name)
    ? `exchange type '${name}' is not supported yet`
    : `unknown exchange type '${name}'`;
  throw new ChannelError(PRECONDITION_FAILED, detail);
}
