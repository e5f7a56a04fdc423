// Turns the arguments of queue.declare into typed settings, or throws a 406 that names the argument and
// the rule. The queue registry calls it before it creates anything, so that a refusal leaves nothing
// behind. Unknown arguments are accepted and ignored, as in RabbitMQ. The registry refuses unknown
// arguments that look like retry arguments, except for queues of an existing data folder.

import type { FieldTable, FieldValue } from "../../amqp/field_value.ts";
import { booleanOf, integerOf, textOf } from "../../amqp/field_value.ts";
import { describe } from "../names.ts";
import type { QueueSpec } from "../names.ts";
import { invalidArgument, preconditionFailed } from "./argument_error.ts";
import { fieldTypeName } from "./field_text.ts";
import type { RetrySettings } from "./retry_arguments.ts";
import {
  checkRetryCombinations,
  isInertRetryArgument,
  RETRY_VALIDATORS,
  retrySettings,
} from "./retry_arguments.ts";
import type { Validator } from "./validators.ts";
import * as check from "./validators.ts";

export type { RetrySettings } from "./retry_arguments.ts";

/** The rule for a message that arrives at a full queue. */
type Overflow = "drop-head" | "reject-publish" | "reject-publish-dlx";

/** The settings of a queue from its arguments. */
export interface QueueArguments {
  /** Infinity if unset, like the other limits. */
  readonly messageTtlMs: number;
  readonly expiresMs: number;
  readonly lengthMax: number;
  readonly lengthBytesMax: number;
  readonly overflow: Overflow;
  /** Name of the exchange; empty for the default exchange, null if there is none. */
  readonly deadLetterExchange: string | null;
  readonly deadLetterRoutingKey: string | null;
  /** Redeliveries allowed; Infinity if unlimited. */
  readonly deliveryLimit: number;
  /** Whether the limit is the default of retries and not an argument. */
  readonly isDeliveryLimitDefault: boolean;
  /** Null if the queue does not delay messages. */
  readonly retry: RetrySettings | null;
  readonly queueType: "classic" | "quorum";
  /** The arguments as the client gave them. */
  readonly raw: FieldTable;
  /** The arguments that have an effect. */
  readonly effective: FieldTable;
}

/**
 * When a message of a queue with these arguments expires, ms: the earlier of its own expiry and the
 * queue's time to live.
 */
export function messageEndMs(args: QueueArguments, expiryMs: number, arrivalMs: number): number {
  return Math.min(expiryMs, arrivalMs + args.messageTtlMs);
}

/** Redeliveries allowed on a retry-enabled queue that sets no limit (docs/automatic-retries.md). */
const DELIVERY_LIMIT_DEFAULT = 20;

const OVERFLOWS: readonly string[] = ["drop-head", "reject-publish", "reject-publish-dlx"];
const QUEUE_TYPES: readonly string[] = ["classic", "quorum", "stream"];

type Rule = readonly [string, Validator];

/** Arguments with an effect, in the order in which RabbitMQ checks and compares them. */
const WORKING: readonly Rule[] = [
  ["x-expires", check.disuseMs],
  ["x-message-ttl", check.expiryMs],
  ["x-dead-letter-exchange", check.shortText],
  ["x-dead-letter-routing-key", check.shortText],
  ["x-max-length", check.nonNegativeInteger],
  ["x-max-length-bytes", check.nonNegativeInteger],
  ["x-overflow", check.oneOf(OVERFLOWS, () => "invalid_overflow")],
  ["x-queue-type", check.oneOf(QUEUE_TYPES, (text) => `"unsupported queue type '${text}'"`)],
  ["x-delivery-limit", check.nonNegativeInteger],
  ...RETRY_VALIDATORS,
];

/** Arguments without effect here that RabbitMQ accepts on every queue of its type. */
const INERT: readonly Rule[] = [
  [
    "x-queue-mode",
    check.oneOf(["default", "lazy"], (text) => `"unsupported queue mode '${text}'"`),
  ],
  ["x-queue-version", check.queueVersion],
  ["x-queue-master-locator", check.anything],
];

/** Arguments without effect here that RabbitMQ accepts on quorum queues only. */
const INERT_ON_QUORUM: readonly Rule[] = [
  [
    "x-dead-letter-strategy",
    check.oneOf(["at-most-once", "at-least-once"], () => "invalid_dlx_strategy"),
  ],
  ["x-max-in-memory-length", check.nonNegativeInteger],
  ["x-max-in-memory-bytes", check.nonNegativeInteger],
  ["x-quorum-initial-group-size", check.positiveInteger],
  [
    "x-queue-leader-locator",
    check.oneOf(["client-local", "balanced"], () => "invalid_queue_locator_arg"),
  ],
];

/** Arguments of streams, which no other queue type accepts. */
const STREAM_ONLY: readonly string[] = [
  "x-max-age",
  "x-stream-max-segment-size-bytes",
  "x-stream-filter-size-bytes",
  "x-initial-cluster-size",
];

/** Arguments of features that are not implemented: they are checked, then refused unless switched off. */
const NOT_SUPPORTED_YET: readonly Rule[] = [
  ["x-max-priority", check.maxPriority],
  ["x-single-active-consumer", check.boolean],
  ["x-consumer-timeout", check.nonNegativeInteger],
  ["x-message-deduplication", check.boolean],
  ["x-cache-size", check.nonNegativeInteger],
  ["x-cache-ttl", check.nonNegativeInteger],
  ["x-deduplication-header", check.longString],
];

const CHECKED: readonly Rule[] = [...WORKING, ...INERT, ...NOT_SUPPORTED_YET];
const WORKING_NAMES: ReadonlySet<string> = new Set(WORKING.map(([name]) => name));
const RETRY_NAMES: ReadonlySet<string> = new Set(RETRY_VALIDATORS.map(([name]) => name));

/** Arguments that are compared when a queue is redeclared: all that have a meaning. */
export const COMPARED_ARGUMENTS: readonly string[] = [...CHECKED, ...INERT_ON_QUORUM]
  .map(([name]) => name);

/**
 * Returns the settings of a declaration.
 * @throws ChannelError 406 that names the argument and what is wrong with it
 */
export function parseQueueArguments(spec: QueueSpec, vhost: string): QueueArguments {
  const { args } = spec;
  const entity = describe("queue", spec.name, vhost);
  checkDeadLetterType(args, entity);
  checkRules(CHECKED, args, entity);
  checkRetryCombinations(spec.name, args);
  checkTogether(args, entity);
  const queueType = textOf(args.get("x-queue-type")) === "quorum" ? "quorum" : "classic";
  checkQueueType(queueType, args, entity);
  if (queueType === "quorum") checkQuorumProperties(spec, entity);
  refuseUnsupported(args, entity);
  return settingsOf(args, queueType);
}

// RabbitMQ checks this argument before all others, and its error has another wording.
function checkDeadLetterType(args: FieldTable, entity: string): void {
  const field = args.get("x-dead-letter-exchange");
  if (field === undefined || field.tag === "S") return;
  throw preconditionFailed(
    `invalid type '${fieldTypeName(field)}' for arg 'x-dead-letter-exchange' in ${entity}`,
  );
}

function checkRules(rules: readonly Rule[], args: FieldTable, entity: string): void {
  for (const [name, validate] of rules) {
    const field = args.get(name);
    const problem = field === undefined ? null : validate(field);
    if (problem !== null) throw invalidArgument(name, entity, problem);
  }
}

function checkTogether(args: FieldTable, entity: string): void {
  if (!args.has("x-dead-letter-routing-key") || args.has("x-dead-letter-exchange")) return;
  throw invalidArgument("x-dead-letter-routing-key", entity, "routing_key_but_no_dlx_defined");
}

function checkQueueType(
  queueType: QueueArguments["queueType"],
  args: FieldTable,
  entity: string,
): void {
  if (textOf(args.get("x-queue-type")) === "stream") {
    throw invalidArgument("x-queue-type", entity, "queue type 'stream' is not supported yet");
  }
  const foreign = queueType === "quorum"
    ? STREAM_ONLY
    : [...STREAM_ONLY, ...INERT_ON_QUORUM.map(([name]) => name)];
  for (const name of foreign) {
    if (!args.has(name)) continue;
    throw preconditionFailed(
      `invalid arg '${name}' for ${entity} of queue type rabbit_${queueType}_queue`,
    );
  }
  checkRules(INERT_ON_QUORUM, args, entity);
}

function checkQuorumProperties(spec: QueueSpec, entity: string): void {
  if (spec.autoDelete) throw preconditionFailed(`invalid property 'auto-delete' for ${entity}`);
  if (spec.exclusive) throw preconditionFailed(`invalid property 'exclusive-owner' for ${entity}`);
  if (!spec.durable) throw preconditionFailed(`invalid property 'non-durable' for ${entity}`);
}

// An argument that is switched off asks for no feature.
function isSwitchedOff(name: string, field: FieldValue): boolean {
  if (name === "x-max-priority") return integerOf(field) === 0;
  return booleanOf(field) === false;
}

function refuseUnsupported(args: FieldTable, entity: string): void {
  for (const [name] of NOT_SUPPORTED_YET) {
    const field = args.get(name);
    if (field === undefined || isSwitchedOff(name, field)) continue;
    throw invalidArgument(name, entity, "not supported yet");
  }
}

function limitAt(args: FieldTable, name: string): number {
  const value = integerOf(args.get(name));
  return value === undefined ? Infinity : Number(value);
}

function deliveryLimitOf(args: FieldTable, retry: RetrySettings | null): number {
  if (args.has("x-delivery-limit")) return limitAt(args, "x-delivery-limit");
  return retry === null ? Infinity : DELIVERY_LIMIT_DEFAULT;
}

function settingsOf(args: FieldTable, queueType: QueueArguments["queueType"]): QueueArguments {
  const retry = retrySettings(args);
  return {
    messageTtlMs: limitAt(args, "x-message-ttl"),
    expiresMs: limitAt(args, "x-expires"),
    lengthMax: limitAt(args, "x-max-length"),
    lengthBytesMax: limitAt(args, "x-max-length-bytes"),
    overflow: (textOf(args.get("x-overflow")) ?? "drop-head") as Overflow,
    deadLetterExchange: textOf(args.get("x-dead-letter-exchange")) ?? null,
    deadLetterRoutingKey: textOf(args.get("x-dead-letter-routing-key")) ?? null,
    deliveryLimit: deliveryLimitOf(args, retry),
    isDeliveryLimitDefault: retry !== null && !args.has("x-delivery-limit"),
    retry,
    queueType,
    raw: args,
    effective: effectiveOf(args),
  };
}

function effectiveOf(args: FieldTable): FieldTable {
  const effective = new Map<string, FieldValue>();
  for (const [name, field] of args) {
    if (!WORKING_NAMES.has(name)) continue;
    if (RETRY_NAMES.has(name) && isInertRetryArgument(name, args)) continue;
    effective.set(name, field);
  }
  return effective;
}
