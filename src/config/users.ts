// The list of users as a setting: JSON, whether from the file, the environment or the library door.
// The table of settings calls it; it never checks a password.

import type { UserConfig } from "../broker/users.ts";
import type { Kind } from "./kinds.ts";

const TAGS = ["administrator", "monitoring", "policymaker", "management", "impersonator"];
const KEYS = ["name", "password", "tags", "loopbackOnly"];

/** A user as a person writes it: `tags` and `loopbackOnly` may be left out. */
export interface UserInput {
  name: string;
  password: string;
  /** None when left out. */
  tags?: readonly string[];
  /** True for `guest` and false for everybody else when left out. */
  loopbackOnly?: boolean;
}

/** A list of users, unique by name. */
export const userList: Kind<readonly UserConfig[]> = {
  accepted: `a JSON array of objects with ${KEYS.join(", ")}; names are unique, ` +
    `name and password are not empty, tags are of ${TAGS.join(", ")}`,
  fromText: (text) => {
    try {
      return readUsers(JSON.parse(text));
    } catch {
      return undefined;
    }
  },
  fromJson: readUsers,
};

function readUsers(value: unknown): readonly UserConfig[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const users = value.map(readUser);
  const complete = users.filter((user) => user !== undefined);
  const names = new Set(complete.map((user) => user.name));
  return names.size === value.length ? complete : undefined;
}

function readUser(value: unknown): UserConfig | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.keys(value).some((key) => !KEYS.includes(key))) return undefined;
  const { name, password, tags = [], loopbackOnly = name === "guest" } = value as UserInput;
  if (typeof name !== "string" || name === "") return undefined;
  if (typeof password !== "string" || password === "") return undefined;
  if (!Array.isArray(tags) || !tags.every((tag) => TAGS.includes(tag))) return undefined;
  if (typeof loopbackOnly !== "boolean") return undefined;
  return { name, password, tags, loopbackOnly };
}
