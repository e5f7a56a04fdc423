// What becomes of an exception that was thrown while acting for a client: a soft error ends the
// channel, a hard one the connection, an unexpected one in session code the connection too (541). One
// that comes out of broker code is passed on: the node stops (ARCHITECTURE.md "When something is wrong").

import { AmqpError, ChannelError, ConnectionError } from "../amqp/errors.ts";
import { FRAME_ERROR, INTERNAL_ERROR } from "../amqp/reply_code.ts";
import { logClose } from "./close_log.ts";
import type { Connection } from "./connection.ts";
import { STATE_CLOSING } from "./connection_state.ts";

/** Ends what the error is about; the frame being handled is the one the parser shows. */
export function handleFailure(connection: Connection, error: unknown): void {
  const { zone } = connection.context;
  if (!(error instanceof AmqpError)) {
    if (zone.isBroker) throw error;
    handleInternalFailure(connection, error);
    return;
  }
  zone.isBroker = false;
  const channel = connection.channels[connection.input.parser.channel];
  const isSoft = error instanceof ChannelError && channel !== undefined && !channel.isClosing;
  if (isSoft) channel.fail(error, connection.methodKey);
  else failConnection(connection, error);
}

/** A mistake of ours that only this connection suffers from. */
export function handleInternalFailure(connection: Connection, error: unknown): void {
  connection.context.logger.log("error", "connection failed", {
    connection: connection.name,
    error: String(error),
    stack: error instanceof Error ? error.stack ?? "" : "",
  });
  failConnection(connection, new ConnectionError(INTERNAL_ERROR, "an internal error occurred"));
}

function failConnection(connection: Connection, error: AmqpError): void {
  // A second error while closing: the stream makes no sense any more.
  if (connection.state >= STATE_CLOSING) return connection.stopParsing();
  const { methodKey } = connection;
  // Our own mistakes have been logged with their stack.
  if (error.code !== INTERNAL_ERROR) {
    const { channel } = connection.input.parser;
    logClose(connection, error, { message: "connection closed with an error", channel, methodKey });
  }
  connection.close(error.code, error.replyText, {
    classId: error.classId || methodKey >>> 16,
    methodId: error.methodId || methodKey & 0xffff,
  });
  if (error.code === FRAME_ERROR) connection.stopParsing();
}
