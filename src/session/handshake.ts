// The handshake, from the protocol header to connection.open-ok: the offer of the node, the login of
// the client, and the limits that both agree on. The connection and its method handler call it; it
// handles nothing after the handshake. Texts and codes follow RabbitMQ.

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
import { type LoginAttempt, REFUSAL_DELAY_MS } from "../broker/access/login_throttle.ts";
import type { User } from "../broker/access/users.ts";
import { isLoopback } from "../broker/access/users.ts";
import { copyOfRange } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";
import type { Connection } from "./connection.ts";
import { STATE_OPENING, STATE_RUNNING, STATE_TUNING } from "./connection_state.ts";
import { clientCapabilities } from "./server_properties.ts";

const MECHANISMS = encodeText("PLAIN AMQPLAIN");
const LOCALES = encodeText("en_US");
const FAILURE_CLOSE = tableKey("authentication_failure_close");

/** Sends connection.start to a client whose protocol header was correct. */
export function sendStart(connection: Connection): void {
  writeConnectionStart(connection.writer(), 0, {
    versionMajor: 0,
    versionMinor: 9,
    serverProperties: connection.context.serverProperties,
    mechanisms: MECHANISMS,
    locales: LOCALES,
  });
}

/** The parts of start-ok that are kept until the password has been checked. */
interface Login {
  readonly attempt: LoginAttempt;
  readonly credentials: Credentials;
  /** The client's properties, not decoded. */
  readonly properties: Uint8Array;
  readonly refusal: Refusal;
}

/** How the client is told that it may not log in. */
interface Refusal {
  readonly mechanism: string;
  /** Whether the client understands connection.close at this point. */
  readonly isSaid: boolean;
}

/** Handles start-ok. The connection keeps nothing from it before the password is checked. */
export function startOk(connection: Connection, args: StartOk): void {
  const { broker } = connection.context;
  const { mechanism, bytes, propertiesStart, propertiesEnd } = args;
  const credentials = readCredentials(mechanism, args.response);
  const attempt = broker.logins.begin(connection.info.peerHost, credentials.user, broker.nowMs);
  const login = {
    attempt,
    credentials,
    properties: copyOfRange(bytes, propertiesStart, propertiesEnd),
    refusal: { mechanism, isSaid: hasCapability(args, FAILURE_CLOSE) },
  };
  if (attempt.waitMs === Infinity) refuseLogin(connection, login.refusal);
  else if (attempt.waitMs === 0) checkLogin(connection, login);
  else connection.postpone(attempt.waitMs, () => checkLogin(connection, login));
}

function readCredentials(mechanism: string, response: Uint8Array): Credentials {
  if (mechanism === "PLAIN") return decodePlain(response);
  if (mechanism === "AMQPLAIN") return decodeAmqplain(response);
  const detail = `unknown authentication mechanism '${mechanism}'`;
  throw new ConnectionError(COMMAND_INVALID, detail);
}

function checkLogin(connection: Connection, login: Login): void {
  const { context } = connection;
  const { broker, limits } = context;
  const { user: name, password } = login.credentials;
  const user = authenticate(connection, name, password);
  if (user === null) {
    const reason = broker.users.refusalOf(name, isLoopback(connection.info.peerHost));
    const fields = { connection: connection.name, user: name, reason };
    context.logger.log("warn", "login refused", fields);
    refuseLogin(connection, login.refusal);
    return;
  }
  broker.logins.succeeded(login.attempt);
  broker.metrics.authSucceeded++;
  connection.user = user;
  connection.input.waitingBytesMax = limits.inputBytesPerTurn;
  context.newcomers.left(connection);
  const properties = decodeFieldTable(login.properties, 0, login.properties.length);
  connection.clientProperties = properties;
  connection.capabilities = clientCapabilities(properties);
  connection.state = STATE_TUNING;
  const { channelMax, frameBytesMax, heartbeatSeconds } = limits;
  writeConnectionTune(connection.writer(), 0, channelMax, frameBytesMax, heartbeatSeconds);
}

function authenticate(connection: Connection, name: string, password: Uint8Array): User | null {
  const user = connection.context.broker.users.authenticate(name, password);
  if (user === null) return null;
  return user.loopbackOnly && !isLoopback(connection.info.peerHost) ? null : user;
}

// A client that is told about the refusal waits as long as one that is dropped, so that guessing
// passwords takes time.
function refuseLogin(connection: Connection, refusal: Refusal): void {
  const { broker } = connection.context;
  broker.metrics.authFailed++;
  if (!refusal.isSaid) connection.refuse(REFUSAL_DELAY_MS);
  else if (broker.logins.isOn) {
    connection.postpone(REFUSAL_DELAY_MS, () => sayRefusal(connection, refusal.mechanism));
  } else sayRefusal(connection, refusal.mechanism);
}

function sayRefusal(connection: Connection, mechanism: string): void {
  const detail = `Login was refused using authentication mechanism ${mechanism}. ` +
    "For details see the broker logfile.";
  connection.close(ACCESS_REFUSED, replyText(ACCESS_REFUSED, detail), {
    classId: CONNECTION_START_OK >>> 16,
    methodId: CONNECTION_START_OK & 0xffff,
  });
}

/** Handles tune-ok: takes over the limits that the client agrees to. */
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

// 0 means "no limit", which is above every limit of ours.
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

/** Handles connection.open: gives the client its vhost. */
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
