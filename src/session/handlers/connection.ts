// The connection class on channel 0: handshake, close and update-secret. The frame switch calls it in
// every state. As in RabbitMQ, a method that does not fit the state ends the connection (504).

import { ConnectionError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  CONNECTION_CLOSE,
  CONNECTION_CLOSE_OK,
  CONNECTION_OPEN,
  CONNECTION_START_OK,
  CONNECTION_TUNE_OK,
  CONNECTION_UPDATE_SECRET,
  decodeConnectionClose,
  decodeConnectionOpen,
  decodeConnectionTuneOk,
  decodeConnectionUpdateSecret,
  writeConnectionUpdateSecretOk,
} from "../../amqp/methods_gen.ts";
import { CHANNEL_ERROR } from "../../amqp/reply_code.ts";
import { readStartOk } from "../../amqp/start_ok.ts";
import type { Connection } from "../connection.ts";
import {
  STATE_CLOSING,
  STATE_LEAVING,
  STATE_NAMES,
  STATE_OPENING,
  STATE_RUNNING,
  STATE_STARTING,
  STATE_TUNING,
} from "../connection_state.ts";
import { open, startOk, tuneOk } from "../handshake.ts";
import { argumentsStart } from "./arguments.ts";

/** Handles a method on channel 0. */
export function handleConnection(connection: Connection, key: number, frame: FrameParser): void {
  const { buffer, payloadEnd } = frame;
  const start = argumentsStart(frame);
  const { state } = connection;
  if (key === CONNECTION_CLOSE) {
    decodeConnectionClose(buffer, start, payloadEnd);
    connection.leave();
  } else if (state === STATE_CLOSING || state === STATE_LEAVING) {
    if (key === CONNECTION_CLOSE_OK) connection.end();
  } else if (state === STATE_STARTING && key === CONNECTION_START_OK) {
    startOk(connection, readStartOk(buffer, start, payloadEnd));
  } else if (state === STATE_TUNING && key === CONNECTION_TUNE_OK) {
    tuneOk(connection, decodeConnectionTuneOk(buffer, start, payloadEnd));
  } else if (state === STATE_OPENING && key === CONNECTION_OPEN) {
    open(connection, decodeConnectionOpen(buffer, start, payloadEnd));
  } else if (state === STATE_RUNNING && key === CONNECTION_UPDATE_SECRET) {
    // Only secrets of an identity provider expire, so there is nothing to renew here.
    decodeConnectionUpdateSecret(buffer, start, payloadEnd);
    writeConnectionUpdateSecretOk(connection.writer(), 0);
  } else {
    const detail = `unexpected method in connection state ${STATE_NAMES[state]}`;
    throw new ConnectionError(CHANNEL_ERROR, detail);
  }
}
