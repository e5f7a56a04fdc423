// Handles an exception that was thrown while acting for a client. A soft error ends the channel, a hard
// error ends the connection, and an unexpected exception of session code ends the connection too (541).
// An exception of broker code is passed on and stops the node (ARCHITECTURE.md "When something is
// wrong").

import { AmqpError, ChannelError, ConnectionError } from "../amqp/errors.ts";
import { FRAME_ERROR, INTERNAL_ERROR } from "../amqp/reply_code.ts";
import { logClose } from "./close_log.ts";
import type { Connection } from "./connection.ts";
import { STATE_CLOSING } from "./connection_state.ts";

/** Ends the channel or connection that caused the error, for the frame that the parser shows. */
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

/** Ends the connection because of a fault of ours that affects only this connection. */
export function handleInternalFailure(connection: Connection, error: unknown): void {
  connection.context.logger.log("error", "connection failed", {
    connection: connection.name,
    error: String(error),
    stack: error instanceof Error ? error.stack ?? "" : "",
  });
  failConnection(connection, new ConnectionError(INTERNAL_ERROR, "an internal error occurred"));
}

function failConnection(connection: Connection, error: AmqpError): void {
  // After a second error while closing, the bytes of the stream can no longer be understood.
  if (connection.state >= STATE_CLOSING) return connection.stopParsing();
  const { methodKey } = connection;
  // Our own faults have already been logged with their stack.
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
