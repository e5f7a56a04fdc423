// Frames that cannot be answered in their turn: the store has to make a batch safe or to read a
// message first. The connection's later frames wait behind them, so that answers keep their order.
// Handlers begin a wait. The context answers what waits for a batch when a turn ends; the broker has
// what waits for a read tried again when a turn begins.

import { ConnectionError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { Queue } from "../broker/queue.ts";
import type { Channel } from "./channel.ts";
import { handleFailure } from "./failure.ts";
import { HOLD_STORE } from "./input.ts";

/** A frame whose answer waits. */
export interface StoreWait {
  readonly channel: Channel;
  /** The batch that has to be safe. */
  readonly batch: number;
  /** Answers; runs when the turn ends in which the batch is safe. */
  readonly resume: () => void;
}

/** The frame being handled is answered once a batch is safe. */
export function waitForBatch(wait: StoreWait): void {
  const { connection, context } = wait.channel;
  connection.hold(HOLD_STORE);
  context.storeWaits.push(wait);
}

/**
 * Answers a declare or bind once what it names is safe, which `batch` has defined. So no client learns
 * of a definition that a crash could take back, whoever made it and whatever the disk has refused.
 */
export function answerWhenDefined(channel: Channel, batch: number, write: () => void): void {
  const { store } = channel.context.broker;
  const answer = () => {
    // Decided, but not there: the disk has refused it.
    if (batch > store.storedBatch) {
      throw new ConnectionError(RESOURCE_ERROR, "the definition could not be stored");
    }
    write();
  };
  if (batch <= store.safeBatch) answer();
  else waitForBatch({ channel, batch, resume: answer });
}

/**
 * Answers a delete or unbind once the last removal of something durable is safe: its own, or when it has
 * removed nothing, perhaps that of whoever was there before it. What others declare is no concern of it.
 */
export function answerWhenUndefined(channel: Channel, write: () => void): void {
  const { store } = channel.context.broker;
  const batch = store.undefinitionBatch;
  if (batch <= store.safeBatch) return write();
  waitForBatch({
    channel,
    batch,
    resume: () => {
      if (store.isFailed(batch)) {
        throw new ConnectionError(RESOURCE_ERROR, "the definition could not be stored");
      }
      write();
    },
  });
}

/**
 * The frame being handled is tried again once the head of `queue` has been read, in a turn of its own and
 * not when others are answered: what it takes has to be written first, as it is for any frame.
 */
export function waitForRead(queue: Queue, channel: Channel, retry: () => void): void {
  const { connection, context } = channel;
  const { zone } = context;
  connection.hold(HOLD_STORE);
  const resume = () => {
    if (channel.isReleased) return;
    zone.isBroker = false;
    connection.unhold(HOLD_STORE);
    try {
      retry();
    } catch (error) {
      handleFailure(connection, error);
    }
    zone.isBroker = true;
  };
  zone.run(() => queue.whenRead(resume));
}
