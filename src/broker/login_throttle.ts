// How fast passwords may be guessed. A login that fails takes a token from a few buckets, which fill up
// again with time; when one is empty, the next passwords are looked at as tokens come, and those that
// would have to wait too long are not looked at. A right password gives its tokens back, so thousands of
// clients that log in at once are not slowed down. The handshake and the HTTP API ask before they look at
// a password; they do the waiting.
//
// There is a bucket for each user at each address, so that nobody slows down other users or the same
// user at other addresses. Two more, for each address and for each user, stop who tries many users or
// from many addresses; they do not count for a user at an address where the password was right before.

import type { Logger } from "../lib/logger.ts";
import { networkOf } from "./peer_network.ts";
import type { Users } from "./users.ts";

interface Rate {
  /** Failures that are free after a quiet time. */
  readonly burst: number;
  /** After this long there is one more, ms. */
  readonly intervalMs: number;
}

const PAIR_RATE: Rate = { burst: 20, intervalMs: 200 };
const ADDRESS_RATE: Rate = { burst: 100, intervalMs: 50 };
const USER_RATE: Rate = { burst: 200, intervalMs: 50 };

/** A password that would be looked at later than this is not looked at, ms. */
const WAIT_MAX_MS = 5_000;
/** Buckets of one kind that are remembered, the last used ones. */
const REMEMBERED_MAX = 16_384;
const LOG_INTERVAL_MS = 10_000;

/** How long the answer to a wrong password takes, ms. */
export const REFUSAL_DELAY_MS = 1_000;

/** Tokens, as the time at which all of them are there again. */
interface Bucket {
  readonly rate: Rate;
  fullAtMs: number;
}

/** One login, before its password has been looked at. */
export interface LoginAttempt {
  /** For how long to wait before looking at the password; Infinity = it may not be looked at. */
  readonly waitMs: number;
  /** Whom it comes from and who it is for. */
  readonly pair: string;
  readonly buckets: readonly Bucket[];
}

const FREE: LoginAttempt = { waitMs: 0, pair: "", buckets: [] };

/** The failed logins of one node. */
export class LoginThrottle {
  /** False where time does not pass by itself: nobody ever waits. */
  isOn = true;
  readonly #users: Users;
  readonly #logger: Logger;
  readonly #pairs = new Map<string, Bucket>();
  readonly #addresses = new Map<string, Bucket>();
  readonly #names = new Map<string, Bucket>();
  /** Pairs of which the password was right before, the last ones. */
  readonly #known = new Map<string, true>();
  #loggedAtMs = -Infinity;
  #refusedCount = 0;

  constructor(users: Users, logger: Logger) {
    this.#users = users;
    this.#logger = logger;
  }

  /** Somebody at `peerHost` wants to log in as `userName`. */
  begin(peerHost: string, userName: string, nowMs: number): LoginAttempt {
    if (!this.isOn) return FREE;
    const network = networkOf(peerHost);
    // All users who do not exist are one, or names could be made up to fill memory.
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

  /** The password was right. */
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

// The one used last stands last; the one at the front has waited longest and is nearest to being full.
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= REMEMBERED_MAX) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
