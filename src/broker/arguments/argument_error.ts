// The 406 refusals of arguments, in RabbitMQ's wording. The argument comes first, because a long entity
// name may push the rest of the text beyond the 255 bytes of a reply text. The parsers of this folder
// and the registries throw these errors.

import { ChannelError } from "../../amqp/errors.ts";
import { PRECONDITION_FAILED } from "../../amqp/reply_code.ts";

/** Returns a 406 with this text. */
export function preconditionFailed(detail: string): ChannelError {
  return new ChannelError(PRECONDITION_FAILED, detail);
}

/**
 * Returns the refusal of one argument of an entity: `invalid arg 'x' for queue 'q' in vhost '/':
 * reason`.
 */
export function invalidArgument(name: string, entity: string, reason: string): ChannelError {
  return preconditionFailed(`invalid arg '${name}' for ${entity}: ${reason}`);
}
