// The log lines about channels and connections that did not end in good order; error texts refer
// clients to them. The code that ends them calls it. The logger limits the number of lines.

import type { AmqpError } from "../amqp/errors.ts";
import { METHODS } from "../amqp/methods_gen.ts";
import type { Connection } from "./connection.ts";

/** Which channel or connection was closed, and by which method. */
export interface ClosePlace {
  readonly message: string;
  /** 0 for the connection itself. */
  readonly channel: number;
  /** Class and method that caused it; 0 if none did. */
  readonly methodKey: number;
}

/** Logs the error that the client is told, and who the client is. */
export function logClose(connection: Connection, error: AmqpError, place: ClosePlace): void {
  connection.context.logger.log("info", place.message, {
    connection: connection.name,
    user: connection.user?.name ?? null,
    channel: place.channel,
    code: error.code,
    text: error.replyText,
    method: METHODS.get(place.methodKey)?.name ?? null,
  });
}

/** Logs that the first bytes of a client are not the protocol header. */
export function logNotAmqp({ context, name }: Connection): void {
  const message = "connection refused: the client does not speak AMQP 0-9-1";
  context.logger.log("info", message, { connection: name });
}

/** Logs that the stream of a running client has ended without connection.close. */
export function logGone({ context, name, user }: Connection): void {
  const fields = { connection: name, user: user?.name ?? null };
  context.logger.log("info", "client went without connection.close", fields);
}
