// Limits how fast passwords may be guessed. A failed login takes a token from a few buckets, which
// refill with time. When a bucket is empty, further passwords wait for tokens, and a password that
// would wait too long is refused without a check. A right password gives its tokens back, so thousands
// of clients that log in at once are not slowed down. The handshake and the HTTP API call it before
// they check a password, and do the waiting.
//
// There is a bucket for each user at each address, so that an attacker slows down neither other users
// nor the same user at other addresses. Two more buckets, one per address and one per user, stop an
// attacker that tries many users or uses many addresses. They do not count for a user at an address
// where the password was right before.

import type { Logger } from "../../lib/logger.ts";
import { networkOf } from "./peer_network.ts";
import type { Users } from "./users.ts";

interface Rate {
  /** Failures that are allowed at once after a quiet time. */
  readonly burst: number;
  /** Time after which one more failure is allowed, ms. */
  readonly intervalMs: number;
}

const PAIR_RATE: Rate = { burst: 20, intervalMs: 200 };
const ADDRESS_RATE: Rate = { burst: 100, intervalMs: 50 };
const USER_RATE: Rate = { burst: 200, intervalMs: 50 };

/** A password that would have to wait longer than this is not checked, ms. */
const WAIT_MAX_MS = 5_000;
/** Number of buckets of one kind that are remembered, those used last. */
const REMEMBERED_MAX = 16_384;
const LOG_INTERVAL_MS = 10_000;

/** How long the answer to a wrong password is delayed, ms. */
export const REFUSAL_DELAY_MS = 1_000;

/** A bucket of tokens. `fullAtMs` is the time at which all tokens are back. */
interface Bucket {
  readonly rate: Rate;
  fullAtMs: number;
}

/** A login whose password has not been checked yet. */
export interface LoginAttempt {
  /** How long to wait before checking the password, ms; Infinity means that it must not be checked. */
  readonly waitMs: number;
  /** The network of the peer and the user. */
  readonly pair: string;
  readonly buckets: readonly Bucket[];
}

const FREE: LoginAttempt = { waitMs: 0, pair: "", buckets: [] };

/** The failed logins of one node. */
export class LoginThrottle {
  /** False with a virtual clock, where no login ever waits. */
  isOn = true;
  readonly #users: Users;
  readonly #logger: Logger;
  readonly #pairs = new Map<string, Bucket>();
  readonly #addresses = new Map<string, Bucket>();
  readonly #names = new Map<string, Bucket>();
  /** The pairs used last whose password was right before. */
  readonly #known = new Map<string, true>();
  #loggedAtMs = -Infinity;
  #refusedCount = 0;

  constructor(users: Users, logger: Logger) {
    this.#users = users;
    this.#logger = logger;
  }

  /** Begins a login from `peerHost` as `userName`. */
  begin(peerHost: string, userName: string, nowMs: number): LoginAttempt {
    if (!this.isOn) return FREE;
    const network = networkOf(peerHost);
    // All users that do not exist share one name, because made-up names could fill memory otherwise.
    const name = this.#users.has(userName) ? `=${userName}` : "";
    const pair = `${network} ${name}`;
    const buckets = [bucketOf(this.#pairs, pair, PAIR_RATE)];
    if (!this.#known.has(pair)) {
      buckets.push(bucketOf(this.#addresses, network, ADDRESS_RATE));
      buckets.push(bucketOf(this.#names, name, USER_RATE));
    }
    const waitMs = Math.max(...buckets.map((bucket) => waitOf(bucket, nowMs)));
    if (waitMs > WAIT_MAX_MS) {
      this.#refused(network, userName, nowMs);
      return { waitMs: Infinity, pair, buckets: [] };
    }
    for (const bucket of buckets) {
      bucket.fullAtMs = Math.max(bucket.fullAtMs, nowMs) + bucket.rate.intervalMs;
    }
    return { waitMs, pair, buckets };
  }

  /** Ends a login whose password was right. */
  succeeded(attempt: LoginAttempt): void {
    if (!this.isOn) return;
    for (const bucket of attempt.buckets) bucket.fullAtMs -= bucket.rate.intervalMs;
    remember(this.#known, attempt.pair, true);
  }

  #refused(network: string, userName: string, nowMs: number): void {
    this.#refusedCount++;
    if (nowMs - this.#loggedAtMs < LOG_INTERVAL_MS) return;
    this.#loggedAtMs = nowMs;
    this.#logger.log("warn", "too many failed logins: more are refused without a look", {
      address: network,
      user: userName,
      refused: this.#refusedCount,
    });
    this.#refusedCount = 0;
  }
}

function waitOf({ fullAtMs, rate }: Bucket, nowMs: number): number {
  return Math.max(0, fullAtMs + rate.intervalMs - nowMs - rate.burst * rate.intervalMs);
}

function bucketOf(buckets: Map<string, Bucket>, key: string, rate: Rate): Bucket {
  const bucket = buckets.get(key) ?? { rate, fullAtMs: -Infinity };
  remember(buckets, key, bucket);
  return bucket;
}

// The key used last is last in the map. The first key is the oldest, and its bucket is nearest to full.
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= REMEMBERED_MAX) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
