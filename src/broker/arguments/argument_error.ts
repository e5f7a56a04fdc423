// The 406 refusals of arguments, in RabbitMQ's wording: the argument first, because a long name of the
// entity may push everything behind it over the 255 bytes of a reply text. Thrown by the parsers of
// this folder and the registries.

import { ChannelError } from "../../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";

/** A 406 with this text. */
export function preconditionFailed(detail: string): ChannelError {
  return new ChannelError(PRECONDITION_FAILED, detail);
}

/** Refuses one argument of an entity: `invalid arg 'x' for queue 'q' in vhost '/': reason`. */
export function invalidArgument(name: string, entity: string, reason: string): ChannelError {
  return preconditionFailed(`invalid arg '${name}' for ${entity}: ${reason}`);
}
