// The list of users as a setting: JSON, from the file, the environment or the library. The table of
// settings calls it. It never checks a password and never shows one.

import type { UserConfig } from "../broker/access/users.ts";
import { ConfigError, quoted } from "./config_error.ts";
import { readJsonText } from "./json_text.ts";
import { filledText, type Kind, oneOf, onOff, secretText } from "./kinds.ts";
import { takeMembers } from "./members.ts";

const TAGS = ["administrator", "monitoring", "policymaker", "management", "impersonator"] as const;

/** A user as a person writes it: `tags` and `loopbackOnly` may be left out. */
export interface UserInput {
  name: string;
  password: string;
  /** None when left out. */
  tags?: readonly string[];
  /** When left out: true for `guest` and false for every other user. */
  loopbackOnly?: boolean;
}

const ACCEPTED = "a JSON array of at least one object with name, password, tags, loopbackOnly; " +
  "names are unique, name and password are not empty, " +
  `tags are of ${TAGS.join(", ")}`;

/** A list of users, unique by name. */
export const userList: Kind<readonly UserConfig[]> = {
  accepted: ACCEPTED,
  fromText: (text, where) => readUsers(readJsonText(text, where), where),
  fromJson: readUsers,
};

function readUsers(value: unknown, where: string): readonly UserConfig[] {
  if (!Array.isArray(value)) throw ConfigError.forSecret(where, ACCEPTED);
  if (value.length === 0) throw ConfigError.forValue(where, value, "at least one user");
  const users: UserConfig[] = [];
  for (const entry of value) {
    const user = readUser(entry, placeOf(entry, users.length, where));
    const other = users.findIndex((earlier) => earlier.name === user.name);
    if (other >= 0) {
      const place = placeOf(entry, users.length, where);
      throw new ConfigError(`${place}: the name is that of user ${other + 1}, use unique names`);
    }
    users.push(user);
  }
  return users;
}

/** `REPRISE_USERS: user 2 ("app")`. */
function placeOf(entry: unknown, index: number, where: string): string {
  const name = typeof entry === "object" && entry !== null ? (entry as UserInput).name : undefined;
  const isNamed = typeof name === "string" && name !== "";
  return `${where}: user ${index + 1}${isNamed ? ` (${quoted(name)})` : ""}`;
}

function readUser(entry: unknown, where: string): UserConfig {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw ConfigError.forSecret(where, "an object with name, password, tags, loopbackOnly");
  }
  const user: Partial<UserInput> = {};
  const members = {
    name: (value: unknown, at: string) => user.name = filledText.fromJson(value, at),
    password: (value: unknown, at: string) => user.password = secretText.fromJson(value, at),
    tags: (value: unknown, at: string) => user.tags = readTags(value, at),
    loopbackOnly: (value: unknown, at: string) => user.loopbackOnly = onOff.fromJson(value, at),
  };
  takeMembers(entry, members, { where, what: "key", joint: ": " });
  const { name, password, tags = [], loopbackOnly = name === "guest" } = user;
  if (name === undefined) throw new ConfigError(`${where}: name is missing`);
  if (password === undefined) throw new ConfigError(`${where}: password is missing`);
  return { name, password, tags, loopbackOnly };
}

const TAG = oneOf(TAGS);

function readTags(value: unknown, where: string): readonly string[] {
  if (!Array.isArray(value)) throw ConfigError.forValue(where, value, `a list of ${TAG.accepted}`);
  return value.map((tag, index) => TAG.fromJson(tag, `${where}: tag ${index + 1}`));
}
