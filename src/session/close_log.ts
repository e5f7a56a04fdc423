// The log lines about channels and connections that end otherwise than in good order: clients are told
// to look there. Called where they end; how many lines are written at most is the logger's to say.

import type { AmqpError } from "../amqp/errors.ts";
import { METHODS } from "../amqp/methods_gen.ts";
import type { Connection } from "./connection.ts";

/** Where a channel or connection was closed, and by which method. */
export interface ClosePlace {
  readonly message: string;
  /** 0 for the connection itself. */
  readonly channel: number;
  /** Class and method; 0 if none is to blame. */
  readonly methodKey: number;
}

/** Tells the log what the client is told, and who it is. */
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

/** The first bytes of a client are not the protocol header. */
export function logNotAmqp({ context, name }: Connection): void {
  const message = "connection refused: the client does not speak AMQP 0-9-1";
  context.logger.log("info", message, { connection: name });
}

/** The stream of a client that was at work has ended. */
export function logGone({ context, name, user }: Connection): void {
  const fields = { connection: name, user: user?.name ?? null };
  context.logger.log("info", "client went without connection.close", fields);
}
