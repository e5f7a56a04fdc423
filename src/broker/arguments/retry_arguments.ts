// The arguments of automatic retries (docs/automatic-retries.md "Arguments"): their types and ranges,
// the combinations that are refused, and the resulting settings. Called while a queue is declared. How
// long a message waits is computed in retry/rules.ts.

import type { FieldTable } from "../../amqp/field_value.ts";
import { booleanOf, fieldsEqual, integerOf, textOf } from "../../amqp/field_value.ts";
import { nearestOf } from "../../lib/nearest.ts";
import { RETRIED_NAME_BYTES_MAX, utf8Bytes } from "../names.ts";
import { preconditionFailed } from "./argument_error.ts";
import type { Validator } from "./validators.ts";
import { integersWithin, integerWithin, oneOf } from "./validators.ts";

/** First delay in ms; its presence enables retries. */
const RETRY_MIN = "x-delayed-retry-min";
/** Growth of the delay: linear when absent, 1 constant, 2 or more exponential. */
const RETRY_MULTIPLIER = "x-delayed-retry-multiplier";
/** Longest single delay in ms. */
const RETRY_MAX = "x-delayed-retry-max";
/** Maximum percentage by which a delay is shortened at random. */
const RETRY_JITTER = "x-delayed-retry-jitter";
/** Explicit delays in ms; enables retries. */
const RETRY_DELAYS = "x-delayed-retry-delays";
/** RabbitMQ's dialect: which kinds of return are delayed. */
const RETRY_TYPE = "x-delayed-retry-type";

/** How a queue delays messages that are returned to it. */
export interface RetrySettings {
  /** First delay, ms; 0 with explicit delays. */
  readonly minMs: number;
  /** 0 linear, 1 constant, 2 or more exponential. */
  readonly multiplier: number;
  /** Longest single delay, ms; 0 if unset. */
  readonly maxMs: number;
  readonly jitterPercent: number;
  /** The explicit delays, of which the last one repeats; null without them. */
  readonly delaysMs: readonly number[] | null;
  /** Empty when no type is given. */
  readonly type: "" | "all" | "failed" | "returned";
}

const MS_MAX = Number.MAX_SAFE_INTEGER;
const MULTIPLIER_MAX = 2 ** 31 - 1;
const DELAY_COUNT_MAX = 64;
const TYPES: readonly string[] = ["all", "failed", "returned", "disabled"];
const DISABLED = "disabled";

/** The types and ranges of the retry arguments. */
export const RETRY_VALIDATORS: readonly (readonly [string, Validator])[] = [
  [RETRY_MIN, integerWithin(1, MS_MAX)],
  [RETRY_MULTIPLIER, integerWithin(1, MULTIPLIER_MAX)],
  [RETRY_MAX, integerWithin(1, Infinity)],
  [RETRY_JITTER, integerWithin(0, 100)],
  [RETRY_DELAYS, integersWithin(1, MS_MAX, DELAY_COUNT_MAX)],
  [RETRY_TYPE, oneOf(TYPES, (text) => `unknown value '${text}', expected ${TYPES.join(", ")}`)],
];

/**
 * Prefix of all retry arguments. Unknown arguments with this prefix are refused, because their sender
 * means a retry.
 */
const PREFIX = "x-delayed-retry-";
const KNOWN: ReadonlySet<string> = new Set(RETRY_VALIDATORS.map(([name]) => name));
/** Text after the prefix, and the argument that it means. */
const MEANT: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...KNOWN].map((name) => [name.slice(PREFIX.length), name])),
  limit: "x-delivery-limit",
};
const SHOWN_CHARACTERS_MAX = 80;

/** Returns the arguments that look like retry arguments but do not exist. */
export function unknownRetryArguments(args: FieldTable): string[] {
  return [...args.keys()].filter((name) =>
    name.toLowerCase().startsWith(PREFIX) && !KNOWN.has(name)
  );
}

/** Returns the existing argument that is nearest to `name`. */
export function meantRetryArgument(name: string): string {
  return MEANT[nearestOf(name.slice(PREFIX.length), Object.keys(MEANT))!]!;
}

/**
 * Refuses retry arguments that do not exist, because a queue that ignored them would not wait between
 * two deliveries. An argument that the queue `current` already has with the same value is accepted.
 */
export function refuseUnknownRetryArguments(
  args: FieldTable,
  entity: string,
  current?: FieldTable,
): void {
  const unknown = unknownRetryArguments(args).find((name) => {
    const field = current?.get(name);
    return field === undefined || !fieldsEqual(field, args.get(name)!);
  });
  if (unknown === undefined) return;
  // The reply text may be cut at its end, so the name of the entity comes last.
  const shown = unknown.slice(0, SHOWN_CHARACTERS_MAX);
  throw preconditionFailed(
    `unknown arg '${shown}', did you mean '${
      meantRetryArgument(unknown)
    }'? It was given for ${entity}`,
  );
}

/** Whether these validated arguments enable retries. */
function enablesRetries(args: FieldTable): boolean {
  return hasSchedule(args) && textOf(args.get(RETRY_TYPE)) !== DISABLED;
}

function hasSchedule(args: FieldTable): boolean {
  return args.has(RETRY_MIN) || args.has(RETRY_DELAYS);
}

/** Refuses combinations that cannot work. The arguments have passed their validators. */
export function checkRetryCombinations(name: string, args: FieldTable): void {
  if (textOf(args.get("x-queue-type")) === "stream") refuseOnStream(args);
  if (args.has(RETRY_DELAYS)) refuseFormula(args);
  const type = textOf(args.get(RETRY_TYPE));
  if (type !== undefined && type !== DISABLED && !hasSchedule(args)) {
    throw preconditionFailed(`${RETRY_TYPE} requires ${RETRY_MIN} or ${RETRY_DELAYS}`);
  }
  if (!enablesRetries(args)) return;
  const enabler = args.has(RETRY_MIN) ? RETRY_MIN : RETRY_DELAYS;
  if (booleanOf(args.get("x-message-deduplication")) === true) {
    throw preconditionFailed(`${enabler} cannot be combined with x-message-deduplication`);
  }
  if (utf8Bytes(name) > RETRIED_NAME_BYTES_MAX) {
    throw preconditionFailed(
      `queue name too long for ${enabler}: at most ${RETRIED_NAME_BYTES_MAX} bytes`,
    );
  }
}

function refuseOnStream(args: FieldTable): void {
  for (const [name] of RETRY_VALIDATORS) {
    if (args.has(name)) throw preconditionFailed(`argument ${name} not allowed for streams`);
  }
}

function refuseFormula(args: FieldTable): void {
  for (const name of [RETRY_MIN, RETRY_MULTIPLIER, RETRY_MAX]) {
    if (args.has(name)) {
      throw preconditionFailed(`${RETRY_DELAYS} cannot be combined with ${name}`);
    }
  }
}

function numberAt(args: FieldTable, name: string): number {
  return Math.min(Number(integerOf(args.get(name)) ?? 0), MS_MAX);
}

function delaysOf(args: FieldTable): readonly number[] | null {
  const field = args.get(RETRY_DELAYS);
  return field?.tag === "A" ? field.value.map((item) => Number(integerOf(item))) : null;
}

/** Returns the settings of validated arguments; null if retries are off. */
export function retrySettings(args: FieldTable): RetrySettings | null {
  if (!enablesRetries(args)) return null;
  return {
    minMs: numberAt(args, RETRY_MIN),
    multiplier: numberAt(args, RETRY_MULTIPLIER),
    maxMs: numberAt(args, RETRY_MAX),
    jitterPercent: numberAt(args, RETRY_JITTER),
    delaysMs: delaysOf(args),
    type: (textOf(args.get(RETRY_TYPE)) ?? "") as RetrySettings["type"],
  };
}

/** Whether a retry argument that is present has no effect, because of the other arguments. */
export function isInertRetryArgument(name: string, args: FieldTable): boolean {
  if (name === RETRY_TYPE) return false;
  return !enablesRetries(args);
}
