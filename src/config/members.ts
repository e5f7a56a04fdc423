// Reads an object that a person has written, strictly: an unknown member is refused, with the name
// that was probably meant. This function reads the configuration file, its limits, the options of
// the library and every user in a list. It does not decide which values a member may have.

import { ConfigError, quoted } from "./config_error.ts";

/** Takes the value of one member. `where` names it in errors. Throws {@linkcode ConfigError}. */
export type TakeMember = (value: unknown, where: string) => void;

/** The members that an object may have, in the order in which they are taken. */
export type Members = Readonly<Record<string, TakeMember>>;

/** The name of an object in errors. */
export interface ObjectPlace {
  /** `reprise.json`, `amqp`, `users: user 2 ("app")`; empty for the options of the library. */
  readonly where: string;
  /** The word for a member: `setting`, `option`, `key`. */
  readonly what: string;
  /** The text between `where` and the name of a member: `: ` or `.`. */
  readonly joint: ": " | ".";
}

/** Takes every member of `content`. A member whose value is undefined counts as left out. */
export function takeMembers(content: unknown, members: Members, place: ObjectPlace): void {
  const { where, what, joint } = place;
  const names = Object.keys(members);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw ConfigError.forValue(where || "options", content, `an object with ${names.join(", ")}`);
  }
  const unknown = Object.keys(content).find((name) => !Object.hasOwn(members, name));
  if (unknown !== undefined) {
    const error = ConfigError.forName(what, unknown, names);
    const shown = error.message.replace(` ${unknown},`, () => ` ${quoted(unknown)},`);
    throw new ConfigError(where === "" ? shown : `${where}: ${shown}`);
  }
  for (const name of names) {
    const value = (content as Record<string, unknown>)[name];
    if (value !== undefined) members[name]!(value, where === "" ? name : where + joint + name);
  }
}
