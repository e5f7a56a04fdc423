// The kinds of values a setting can have: how each is read from text (a flag, the environment) and
// from JSON (the file, the library door). The table of settings is made of these; nothing here knows
// a setting's name.

/** One kind of value. */
export interface Kind<T> {
  /** What is accepted, to be read after "use". */
  readonly accepted: string;
  /** The value, or undefined when it is not accepted. */
  fromText(text: string): T | undefined;
  /** The value, or undefined when it is not accepted. */
  fromJson(value: unknown): T | undefined;
}

/** Whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): Kind<number> {
  const check = (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? value as number
      : undefined;
  return {
    accepted: max === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${min}`
      : `a whole number from ${min} to ${max}`,
    fromText: (text) => /^\d{1,16}$/.test(text) ? check(Number(text)) : undefined,
    fromJson: check,
  };
}

/** One of a few words. */
export function oneOf<T extends string>(words: readonly T[]): Kind<T> {
  const check = (value: unknown) => words.find((word) => word === value);
  return { accepted: words.join(", "), fromText: check, fromJson: check };
}

/** Text that is not empty and has no white space in it. */
export function word(accepted: string): Kind<string> {
  const check = (value: unknown) =>
    typeof value === "string" && /^\S+$/.test(value) ? value : undefined;
  return { accepted, fromText: check, fromJson: check };
}

/** A switch that can only be on. */
export function onlyTrue(accepted: string): Kind<true> {
  return {
    accepted,
    fromText: (text) => text === "true" ? true : undefined,
    fromJson: (value) => value === true ? true : undefined,
  };
}

/** Nothing is accepted; `reason` says what to do instead. */
export function refused(reason: string): Kind<never> {
  return { accepted: reason, fromText: () => undefined, fromJson: () => undefined };
}
