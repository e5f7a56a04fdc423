// Who may log in: the configured users, their passwords and their tags. The handshake of a connection
// and the HTTP API ask it; it never knows where a user comes from. What a tag allows over HTTP is decided
// there.

import { bytesEqual } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";

/** A user as it is configured. */
export interface UserConfig {
  readonly name: string;
  readonly password: string;
  /** RabbitMQ's tags: what the user may do over HTTP, and as whom it may publish. */
  readonly tags: readonly string[];
  /** Whether logins from another machine are refused, as RabbitMQ does for guest. */
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

/** The tag of users who may publish in the name of others. */
const IMPERSONATOR = "impersonator";

/** Whether a user may put this name into the `user_id` of a message. */
export function mayClaim(user: User, name: string | undefined): boolean {
  return name === user.name || user.tags.includes(IMPERSONATOR);
}

/** The users of a node. */
export class Users {
  readonly #accounts = new Map<string, Account>();

  /** Takes the users of a configuration; names are unique there. */
  constructor(list: readonly UserConfig[]) {
    for (const { name, password, tags, loopbackOnly } of list) {
      const user = { name, tags: [...tags], loopbackOnly };
      this.#accounts.set(name, { user, password: encodeText(password) });
    }
  }

  /** The user with this name and password, or null; whether the peer is local is the caller's to ask. */
  authenticate(name: string, password: Uint8Array | string): User | null {
    const given = typeof password === "string" ? encodeText(password) : password;
    const account = this.#accounts.get(name);
    if (account === undefined || account.password.length === 0) return null;
    return isSameSecret(account.password, given) ? account.user : null;
  }

  /** Why a login with this name was refused, for the log: the client is not told. */
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

  /** Everyone, in the order of the configuration. */
  list(): User[] {
    return [...this.#accounts.values()].map((account) => account.user);
  }
}

// Takes the same time wherever the first difference is, so that nothing can be learnt by measuring.
function isSameSecret(secret: Uint8Array, given: Uint8Array): boolean {
  if (secret.length !== given.length) return bytesEqual(secret, given);
  let difference = 0;
  for (let i = 0; i < secret.length; i++) difference |= secret[i]! ^ given[i]!;
  return difference === 0;
}

/** Whether a peer's address is this machine's own: `127.0.0.0/8`, `::1`. */
export function isLoopback(host: string): boolean {
  return host === "::1" || host === "localhost" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(host);
}
