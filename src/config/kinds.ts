// The kinds of values that a setting can have, and how each is read from text (a flag, the
// environment) and from JSON (the file, the library). The table of settings consists of these.
// Nothing here knows a setting's name.

import { ConfigError } from "./config_error.ts";

/**
 * One kind of value. A value that is not accepted throws {@linkcode ConfigError}, which names it by
 * `where`.
 */
export interface Kind<T> {
  /** The accepted values, as words that follow "use". */
  readonly accepted: string;
  /** Reads the value of a flag or a variable. */
  fromText(text: string, where: string): T;
  /** Reads the value of a member of the file or of an option. */
  fromJson(value: unknown, where: string): T;
}

interface KindOptions<T> {
  accepted: string;
  /** The value, or undefined when it is not accepted. */
  ofText: (text: string) => T | undefined;
  /** The value, or undefined when it is not accepted. */
  ofJson: (value: unknown) => T | undefined;
  /** Whether the value must not be shown. */
  isSecret?: boolean;
}

function kind<T>({ accepted, ofText, ofJson, isSecret = false }: KindOptions<T>): Kind<T> {
  const admit = (value: T | undefined, given: unknown, where: string): T => {
    if (value !== undefined) return value;
    if (isSecret) throw ConfigError.forSecret(where, accepted);
    throw ConfigError.forValue(where, given, accepted);
  };
  return {
    accepted,
    fromText: (text, where) => admit(ofText(text), text, where),
    fromJson: (value, where) => admit(ofJson(value), value, where),
  };
}

/** Whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): Kind<number> {
  const check = (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? value as number
      : undefined;
  return kind({
    accepted: max === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${min}`
      : `a whole number from ${min} to ${max}`,
    ofText: (text) => /^\d{1,16}$/.test(text) ? check(Number(text)) : undefined,
    ofJson: check,
  });
}

/** One of a few words. */
export function oneOf<T extends string>(words: readonly T[]): Kind<T> {
  const check = (value: unknown, where: string) => {
    const found = words.find((word) => word === value);
    if (found === undefined) throw ConfigError.forWord(where, value, words);
    return found;
  };
  return { accepted: words.join(", "), fromText: check, fromJson: check };
}

/** Text that is not empty and has no white space in it. */
export function word(accepted: string): Kind<string> {
  const check = (value: unknown) =>
    typeof value === "string" && /^\S+$/.test(value) ? value : undefined;
  return kind({ accepted, ofText: check, ofJson: check });
}

const checkText = (value: unknown) => typeof value === "string" && value !== "" ? value : undefined;

/** Text that is not empty. */
export const filledText: Kind<string> = kind({
  accepted: "text that is not empty",
  ofText: checkText,
  ofJson: checkText,
});

/** Text that is not empty and that an error must not show. */
export const secretText: Kind<string> = kind({
  accepted: "text that is not empty",
  ofText: checkText,
  ofJson: checkText,
  isSecret: true,
});

/** On or off. */
export const onOff: Kind<boolean> = kind({
  accepted: "true or false",
  ofText: (text) => text === "true" ? true : text === "false" ? false : undefined,
  ofJson: (value) => typeof value === "boolean" ? value : undefined,
});

const checkPath = (value: unknown) =>
  typeof value !== "string" || value.trim() === "" || value.includes("\0") ? undefined : value;

/** The path of a folder. */
export const folderPath: Kind<string> = kind({
  accepted: "the path of a folder",
  ofText: checkPath,
  ofJson: checkPath,
});

/** The letters of units, each 1024 times the one before. */
const UNITS = "KMGT";

/** Amounts of bytes, with or without a unit: `512M` and `0.5Gi` are 512 · 1024 · 1024 bytes. */
export function byteAmount(min: number, max: number = Number.MAX_SAFE_INTEGER): Kind<number> {
  const check = (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? value as number
      : undefined;
  const ofText = (text: string) => {
    const [, digits, unit = ""] = /^(\d{1,16}(?:\.\d{1,16})?) ?(?:([KMGT])i?)?B?$/i.exec(text) ??
      [];
    if (digits === undefined || (unit === "" && digits.includes("."))) return undefined;
    const power = unit === "" ? 0 : UNITS.indexOf(unit.toUpperCase()) + 1;
    return check(Math.floor(Number(digits) * 1024 ** power));
  };
  const upTo = max === Number.MAX_SAFE_INTEGER ? "" : ` to ${showBytes(max)}`;
  return kind({
    accepted: `an amount of bytes from ${
      showBytes(min)
    }${upTo}, like 900K, 20M, 1.5G or 1500000000`,
    ofText,
    ofJson: (value) => typeof value === "string" ? ofText(value) : check(value),
  });
}

/**
 * Writes an amount of bytes as {@linkcode byteAmount} reads it, with the largest unit that leaves
 * it exact.
 */
export function showBytes(bytes: number): string {
  let amount = bytes;
  let unit = "";
  for (const next of UNITS) {
    if (amount === 0 || amount % 1024 !== 0) break;
    amount /= 1024;
    unit = next;
  }
  return `${amount}${unit}`;
}
