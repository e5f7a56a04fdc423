// Frames that cannot be answered in their turn: the store has to make a batch safe or to read a
// message first. The connection's later frames wait behind them, so that answers keep their order.
// Handlers begin a wait, the context resumes it when a turn ends.

import { ConnectionError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { Queue } from "../broker/queue.ts";
import type { Channel } from "./channel.ts";
import { HOLD_STORE } from "./input.ts";

/** A frame whose answer waits. */
export interface StoreWait {
  readonly channel: Channel;
  /** The batch that has to be safe. */
  readonly batch: number;
  /** Answers; runs when the turn ends in which the batch is safe. */
  readonly resume: () => void;
}

// Batches count from 1.
const ANY_BATCH = 0;

/** The frame being handled is answered once a batch is safe. */
export function waitForBatch(wait: StoreWait): void {
  const { connection, context } = wait.channel;
  connection.hold(HOLD_STORE);
  context.storeWaits.push(wait);
}

/**
 * Answers a declare, delete, bind or unbind: at once when nothing durable changed, else when the change
 * is safe. So no client learns of a definition that a crash could take back.
 */
export function answerWhenDefined(channel: Channel, write: () => void): void {
  const { store } = channel.context.broker;
  const batch = store.definitionBatch;
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

/** The frame being handled is tried again once the head of `queue` has been read. */
export function waitForRead(queue: Queue, channel: Channel, resume: () => void): void {
  const { connection, context } = channel;
  connection.hold(HOLD_STORE);
  const readArrived = () => {
    context.storeWaits.push({ channel, resume, batch: ANY_BATCH });
  };
  // The queue has dealt with a message that cannot be read: the next attempt finds out how.
  context.zone.run(() => queue.whenRead({ readArrived, readFailed: readArrived }));
}
