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

/** On or off. */
export const onOff: Kind<boolean> = {
  accepted: "true or false",
  fromText: (text) => text === "true" ? true : text === "false" ? false : undefined,
  fromJson: (value) => typeof value === "boolean" ? value : undefined,
};

/** The path of a folder. */
export const folderPath: Kind<string> = {
  accepted: "the path of a folder",
  fromText: checkPath,
  fromJson: (value) => typeof value === "string" ? checkPath(value) : undefined,
};

function checkPath(text: string): string | undefined {
  return text.trim() === "" || text.includes("\0") ? undefined : text;
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  "": 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/** Amounts of bytes from `min`, with a unit if one likes: `512M` are 512 · 1024 · 1024 bytes. */
export function byteAmount(min: number): Kind<number> {
  const check = (bytes: number) => Number.isSafeInteger(bytes) && bytes >= min ? bytes : undefined;
  const fromText = (text: string) => {
    const [, digits, unit] = /^(\d{1,16})([KMGTkmgt]?)(?:i?[Bb])?$/.exec(text) ?? [];
    if (digits === undefined) return undefined;
    return check(Number(digits) * UNIT_BYTES[unit!.toLowerCase()]!);
  };
  return {
    accepted: `an amount of bytes from ${min}, like 1500000000, 900K, 512M or 4G`,
    fromText,
    fromJson: (value) => typeof value === "string" ? fromText(value) : check(value as number),
  };
}
