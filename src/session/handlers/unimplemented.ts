// The answer to a method without a handler. The frame switch and the handlers of each class use it. It
// throws nothing itself.

import { ConnectionError } from "../../amqp/errors.ts";
import { METHODS } from "../../amqp/methods_gen.ts";
import { COMMAND_INVALID, NOT_IMPLEMENTED } from "../../amqp/reply_code.ts";

/** Returns 503 for a method that only servers send, 540 for a method that does not exist. */
export function unimplemented(key: number): ConnectionError {
  if (METHODS.has(key)) return new ConnectionError(COMMAND_INVALID, "unimplemented method");
  const name = `class ${key >>> 16}, method ${key & 0xffff}`;
  return new ConnectionError(NOT_IMPLEMENTED, `unknown method: ${name}`);
}
