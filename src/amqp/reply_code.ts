// Reply codes of AMQP 0-9-1 as RabbitMQ uses them, with their names. The texts of close methods and
// returns use them. Callers decide which code fits which mistake.

/** The method or connection ended as asked. */
const REPLY_SUCCESS = 200;
/** The content is larger than accepted. */
const CONTENT_TOO_LARGE = 311;
/** A mandatory message reached no queue. */
export const NO_ROUTE = 312;
/** An immediate message reached no consumer. */
const NO_CONSUMERS = 313;
/** An operator closed the connection. */
export const CONNECTION_FORCED = 320;
/** The virtual host is not known. */
const INVALID_PATH = 402;
/** The client may not do this. */
export const ACCESS_REFUSED = 403;
/** The entity does not exist. */
export const NOT_FOUND = 404;
/** The entity belongs to another connection. */
export const RESOURCE_LOCKED = 405;
/** A precondition of the method does not hold. */
export const PRECONDITION_FAILED = 406;
/** A frame could not be read. */
export const FRAME_ERROR = 501;
/** A frame holds values that cannot be read. */
export const SYNTAX_ERROR = 502;
/** The sequence of frames is not allowed. */
export const COMMAND_INVALID = 503;
/** The channel is not in a state to take this. */
export const CHANNEL_ERROR = 504;
/** A frame of this kind was not expected here. */
export const UNEXPECTED_FRAME = 505;
/** The server is short of resources. */
export const RESOURCE_ERROR = 506;
/** The client tried something that is never allowed. */
export const NOT_ALLOWED = 530;
/** The method is not implemented. */
export const NOT_IMPLEMENTED = 540;
/** The server made a mistake. */
export const INTERNAL_ERROR = 541;

const NAMES: ReadonlyMap<number, string> = new Map([
  [REPLY_SUCCESS, "REPLY_SUCCESS"],
  [CONTENT_TOO_LARGE, "CONTENT_TOO_LARGE"],
  [NO_ROUTE, "NO_ROUTE"],
  [NO_CONSUMERS, "NO_CONSUMERS"],
  [CONNECTION_FORCED, "CONNECTION_FORCED"],
  [INVALID_PATH, "INVALID_PATH"],
  [ACCESS_REFUSED, "ACCESS_REFUSED"],
  [NOT_FOUND, "NOT_FOUND"],
  [RESOURCE_LOCKED, "RESOURCE_LOCKED"],
  [PRECONDITION_FAILED, "PRECONDITION_FAILED"],
  [FRAME_ERROR, "FRAME_ERROR"],
  [SYNTAX_ERROR, "SYNTAX_ERROR"],
  [COMMAND_INVALID, "COMMAND_INVALID"],
  [CHANNEL_ERROR, "CHANNEL_ERROR"],
  [UNEXPECTED_FRAME, "UNEXPECTED_FRAME"],
  [RESOURCE_ERROR, "RESOURCE_ERROR"],
  [NOT_ALLOWED, "NOT_ALLOWED"],
  [NOT_IMPLEMENTED, "NOT_IMPLEMENTED"],
  [INTERNAL_ERROR, "INTERNAL_ERROR"],
]);

/**
 * Returns the name of a reply code as RabbitMQ writes it, or the number itself if the code is
 * unknown.
 */
export function replyCodeName(code: number): string {
  return NAMES.get(code) ?? String(code);
}
