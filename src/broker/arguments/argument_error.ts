// The 406 refusals of queue arguments, in RabbitMQ's wording. Thrown by the parsers of this folder.

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
