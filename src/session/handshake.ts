// From the protocol header to connection.open-ok: what the node offers, who the client is, what both
// agree on. Called by the connection and by its method handler; everything after the handshake is
// elsewhere. Texts and codes follow RabbitMQ.

import { ConnectionError, replyText } from "../amqp/errors.ts";
import { decodeFieldTable } from "../amqp/field_table.ts";
import { FRAME_MAX_MIN, FRAME_OVERHEAD } from "../amqp/frame.ts";
import type { ConnectionOpen, ConnectionTuneOk } from "../amqp/methods_gen.ts";
import {
  CONNECTION_START_OK,
  CONNECTION_TUNE,
  writeConnectionOpenOk,
  writeConnectionStart,
  writeConnectionTune,
} from "../amqp/methods_gen.ts";
import { tableKey } from "../amqp/raw_table.ts";
import { ACCESS_REFUSED, COMMAND_INVALID, NOT_ALLOWED } from "../amqp/reply_code.ts";
import type { Credentials } from "../amqp/sasl.ts";
import { decodeAmqplain, decodePlain } from "../amqp/sasl.ts";
import { hasCapability, type StartOk } from "../amqp/start_ok.ts";
import type { User } from "../broker/users.ts";
import { isLoopback } from "../broker/users.ts";
import { encodeText } from "../lib/text.ts";
import type { Connection } from "./connection.ts";
import { STATE_OPENING, STATE_RUNNING, STATE_TUNING } from "./connection_state.ts";
import { clientCapabilities } from "./server_properties.ts";

/** How long a refused login waits for its end: guessing passwords takes time. */
const REFUSAL_DELAY_MS = 1000;

const MECHANISMS = encodeText("PLAIN AMQPLAIN");
const LOCALES = encodeText("en_US");
const FAILURE_CLOSE = tableKey("authentication_failure_close");

/** Greets a client whose protocol header was good. */
export function sendStart(connection: Connection): void {
  writeConnectionStart(connection.writer(), 0, {
    versionMajor: 0,
    versionMinor: 9,
    serverProperties: connection.context.serverProperties,
    mechanisms: MECHANISMS,
    locales: LOCALES,
  });
}

/** The client says who it is. Nothing of what it says is kept before that is true. */
export function startOk(connection: Connection, args: StartOk): void {
  const { context } = connection;
  const { user: name, password } = readCredentials(args.mechanism, args.response);
  const user = authenticate(connection, name, password);
  if (user === null) {
    context.broker.metrics.authFailed++;
    const reason = context.broker.users.refusalOf(name, isLoopback(connection.info.peerHost));
    const fields = { connection: connection.name, user: name, reason };
    context.logger.log("warn", "login refused", fields);
    refuseLogin(connection, args);
    return;
  }
  context.broker.metrics.authSucceeded++;
  connection.user = user;
  connection.input.waitingBytesMax = context.limits.inputBytesPerTurn;
  context.newcomers.left(connection);
  const properties = decodeFieldTable(args.bytes, args.propertiesStart, args.propertiesEnd);
  connection.clientProperties = properties;
  connection.capabilities = clientCapabilities(properties);
  connection.state = STATE_TUNING;
  const { channelMax, frameBytesMax, heartbeatSeconds } = context.limits;
  writeConnectionTune(connection.writer(), 0, channelMax, frameBytesMax, heartbeatSeconds);
}

function readCredentials(mechanism: string, response: Uint8Array): Credentials {
  if (mechanism === "PLAIN") return decodePlain(response);
  if (mechanism === "AMQPLAIN") return decodeAmqplain(response);
  const detail = `unknown authentication mechanism '${mechanism}'`;
  throw new ConnectionError(COMMAND_INVALID, detail);
}

function authenticate(connection: Connection, name: string, password: Uint8Array): User | null {
  const user = connection.context.broker.users.authenticate(name, password);
  if (user === null) return null;
  return user.loopbackOnly && !isLoopback(connection.info.peerHost) ? null : user;
}

function refuseLogin(connection: Connection, args: StartOk): void {
  const { mechanism } = args;
  if (!hasCapability(args, FAILURE_CLOSE)) {
    connection.refuse(REFUSAL_DELAY_MS);
    return;
  }
  const detail = `Login was refused using authentication mechanism ${mechanism}. ` +
    "For details see the broker logfile.";
  connection.close(ACCESS_REFUSED, replyText(ACCESS_REFUSED, detail), {
    classId: CONNECTION_START_OK >>> 16,
    methodId: CONNECTION_START_OK & 0xffff,
  });
}

/** The client says what it agrees to. */
export function tuneOk(connection: Connection, args: ConnectionTuneOk): void {
  const { limits } = connection.context;
  check("frame_max", args.frameMax, { min: FRAME_MAX_MIN, max: limits.frameBytesMax });
  check("channel_max", args.channelMax, { min: 1, max: limits.channelMax });
  connection.channelMax = args.channelMax;
  connection.frameMax = args.frameMax;
  connection.framePayloadMax = args.frameMax - FRAME_OVERHEAD;
  connection.input.parser.frameMax = args.frameMax;
  connection.state = STATE_OPENING;
  connection.heartbeat.intervalSeconds = args.heartbeat;
}

// 0 means "no limit", which is above any limit of ours.
function check(field: string, value: number, range: { min: number; max: number }): void {
  const { min, max } = range;
  const isTooLow = value !== 0 && value < min;
  const isTooHigh = value === 0 || value > max;
  if (!isTooLow && !isTooHigh) return;
  const shown = field === "channel_max" && value === 0 ? "0 (no limit)" : String(value);
  const how = isTooLow
    ? `lower than the minimum allowed value (${min})`
    : `higher than the maximum allowed value (${max})`;
  throw new ConnectionError(
    NOT_ALLOWED,
    `negotiated ${field} = ${shown} is ${how}`,
    CONNECTION_TUNE >>> 16,
    CONNECTION_TUNE & 0xffff,
  );
}

/** The client says where it wants to work. */
export function open(connection: Connection, args: ConnectionOpen): void {
  const { context } = connection;
  const vhost = context.broker.vhosts.get(args.virtualHost);
  if (vhost === undefined) {
    throw new ConnectionError(NOT_ALLOWED, `vhost ${args.virtualHost} not found`);
  }
  const limit = context.limits.connectionCountMax;
  if (context.openCount >= limit) {
    const detail = `connection refused: node connection limit (${limit}) is reached`;
    throw new ConnectionError(NOT_ALLOWED, detail);
  }
  connection.vhost = vhost;
  connection.state = STATE_RUNNING;
  connection.isOpen = true;
  context.openCount++;
  context.timers.clearDeadline(connection);
  connection.heartbeat.start(connection.heartbeat.intervalSeconds);
  writeConnectionOpenOk(connection.writer(), 0);
}
