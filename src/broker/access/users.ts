// Who may log in: the configured users, their passwords and their tags. The handshake of a connection
// and the HTTP API call it; it never knows from where a user connects. The HTTP API decides what a tag
// allows there.

import { bytesEqual } from "../../lib/bytes.ts";
import { encodeText } from "../../lib/text.ts";

/** A user of the configuration. */
export interface UserConfig {
  readonly name: string;
  readonly password: string;
  /** RabbitMQ's tags: they decide what the user may do over HTTP and under whose name it may publish. */
  readonly tags: readonly string[];
  /** Whether logins from other machines are refused, as RabbitMQ does for guest. */
  readonly loopbackOnly: boolean;
}

/** A user who has logged in. */
export interface User {
  readonly name: string;
  readonly tags: readonly string[];
  readonly loopbackOnly: boolean;
}

/** The user that exists when none is configured. */
export const DEFAULT_USER: UserConfig = {
  name: "guest",
  password: "guest",
  tags: ["administrator"],
  loopbackOnly: true,
};

interface Account {
  readonly user: User;
  readonly password: Uint8Array;
}

/** The tag of users who may publish under the name of others. */
const IMPERSONATOR = "impersonator";

/** Whether a user may put this name into the `user_id` of a message. */
export function mayClaim(user: User, name: string | undefined): boolean {
  return name === user.name || user.tags.includes(IMPERSONATOR);
}

/** The users of a node. */
export class Users {
  readonly #accounts = new Map<string, Account>();

  /** Takes the users of a configuration, whose names are unique. */
  constructor(list: readonly UserConfig[]) {
    for (const { name, password, tags, loopbackOnly } of list) {
      const user = { name, tags: [...tags], loopbackOnly };
      this.#accounts.set(name, { user, password: encodeText(password) });
    }
  }

  /**
   * Returns the user with this name and password, or null. The caller checks whether the peer is local.
   */
  authenticate(name: string, password: Uint8Array | string): User | null {
    const given = typeof password === "string" ? encodeText(password) : password;
    const account = this.#accounts.get(name);
    if (account === undefined || account.password.length === 0) return null;
    return isSameSecret(account.password, given) ? account.user : null;
  }

  /**
   * Returns why a login with this name was refused. The text is for the log only; the client does not
   * see it.
   */
  refusalOf(name: string, isLocal: boolean): string {
    const account = this.#accounts.get(name);
    if (account === undefined) return "there is no such user";
    const isElsewhere = account.user.loopbackOnly && !isLocal;
    return isElsewhere ? "the user may log in from this machine only" : "the password is wrong";
  }

  /** Whether there is a user with this name. */
  has(name: string): boolean {
    return this.#accounts.has(name);
  }

  /** All users, in the order of the configuration. */
  list(): User[] {
    return [...this.#accounts.values()].map((account) => account.user);
  }
}

// Takes the same time wherever the first difference is, so that an attacker learns nothing by
// measuring.
function isSameSecret(secret: Uint8Array, given: Uint8Array): boolean {
  if (secret.length !== given.length) return bytesEqual(secret, given);
  let difference = 0;
  for (let i = 0; i < secret.length; i++) difference |= secret[i]! ^ given[i]!;
  return difference === 0;
}

/** Whether an address is local to this machine: `127.0.0.0/8`, `::1`. */
export function isLoopback(host: string): boolean {
  return host === "::1" || host === "localhost" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(host);
}
