// All counts of a node. Sessions and queues add to plain number fields; management reads them. Nothing
// here knows the names of exported metrics or how rates are computed.

/** Upper bounds of the lateness histogram, seconds. */
const LATENESS_BOUNDS_SECONDS: readonly number[] = [
  0.001,
  0.002,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  5,
  30,
];

/** Upper bounds of the histogram of deliveries spent when a message leaves a retrying queue. */
const ATTEMPT_BOUNDS: readonly number[] = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50];

/** Counts of observations by fixed upper bounds, as in a Prometheus histogram. */
export class Histogram {
  readonly bounds: readonly number[];
  /** Observations per bucket, not cumulative. The last bucket has those above all bounds. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Adds one observation. */
  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
    this.count++;
  }
}

/** Message counts of one queue, named after the members of `message_stats`. */
export class QueueStats {
  publish = 0;
  deliver = 0;
  deliverNoAck = 0;
  get = 0;
  getNoAck = 0;
  getEmpty = 0;
  redeliver = 0;
  ack = 0;
  reject = 0;
}

/** Counts of the whole node since it started. */
export class Metrics {
  connectionsOpened = 0;
  connectionsClosed = 0;
  channelsOpened = 0;
  channelsClosed = 0;
  queuesDeclared = 0;
  queuesCreated = 0;
  queuesDeleted = 0;
  authSucceeded = 0;
  authFailed = 0;

  published = 0;
  publishedBytes = 0;
  confirmed = 0;
  nacked = 0;
  returned = 0;
  unroutableDropped = 0;
  delivered = 0;
  deliveredNoAck = 0;
  got = 0;
  gotNoAck = 0;
  getEmpty = 0;
  redelivered = 0;
  acked = 0;
  rejected = 0;

  deadLetteredRejected = 0;
  deadLetteredExpired = 0;
  deadLetteredMaxlen = 0;
  deadLetteredDeliveryLimit = 0;
  /** Dead letters that reached no queue: missing exchange, no route, full target or a cycle. */
  deadLettersDropped = 0;

  retryScheduled = 0;
  retryRedelivered = 0;
  retryExhausted = 0;
  retryExpired = 0;
  retryStoreFailures = 0;
  /** Messages requeued at once because a limit on delayed messages was reached. */
  retryOverLimit = 0;
  /** Due messages delayed once more because their queue was full. */
  retryDelayedAgain = 0;
  readonly retryLatenessSeconds = new Histogram(LATENESS_BOUNDS_SECONDS);
  readonly retryAttempts = new Histogram(ATTEMPT_BOUNDS);
}
