// Frames that cannot be answered in their turn, because the store must first make a batch safe or read
// a message. The connection's later frames wait behind them, so that answers keep their order. Handlers
// begin a wait. The context answers frames that wait for a batch when a turn ends; the broker has
// frames that wait for a read tried again when a turn begins.

import { ConnectionError } from "../amqp/errors.ts";
import { RESOURCE_ERROR } from "../amqp/reply_code.ts";
import type { Queue } from "../broker/queue/queue.ts";
import type { Channel } from "./channel.ts";
import { handleFailure } from "./failure.ts";
import { HOLD_STORE } from "./input.ts";

/** A frame whose answer waits for a batch. */
export interface StoreWait {
  readonly channel: Channel;
  /** The batch that must be safe. */
  readonly batch: number;
  /** Sends the answer; called at the end of the turn in which the batch is safe. */
  readonly resume: () => void;
}

/** Has the current frame answered once a batch is safe. */
export function waitForBatch(wait: StoreWait): void {
  const { connection, context } = wait.channel;
  connection.hold(HOLD_STORE);
  context.storeWaits.push(wait);
}

/**
 * Answers a declare or bind once its definition, which is in `batch`, is safe. No client learns of a
 * definition that a crash could undo, whichever client made it and whatever the disk has refused.
 */
export function answerWhenDefined(channel: Channel, batch: number, write: () => void): void {
  const { safety } = channel.context.broker;
  const answer = () => {
    // The batch is decided but not stored: the disk has refused it.
    if (batch > safety.storedBatch) {
      throw new ConnectionError(RESOURCE_ERROR, "the definition could not be stored");
    }
    write();
  };
  if (batch <= safety.safeBatch) answer();
  else waitForBatch({ channel, batch, resume: answer });
}

/**
 * Answers a delete or unbind once the last removal of a durable definition is safe. That is its own
 * removal or, if it removed nothing, perhaps an earlier client's removal of the same thing.
 * Declarations of others do not matter.
 */
export function answerWhenUndefined(channel: Channel, write: () => void): void {
  const { safety } = channel.context.broker;
  const batch = safety.undefinitionBatch;
  if (batch <= safety.safeBatch) return write();
  waitForBatch({
    channel,
    batch,
    resume: () => {
      if (safety.isFailed(batch)) {
        throw new ConnectionError(RESOURCE_ERROR, "the definition could not be stored");
      }
      write();
    },
  });
}

/**
 * Tries the current frame again once the head of `queue` has been read. This happens at the beginning
 * of a turn and not when other frames are answered, because its effects must be written first, as for
 * any frame.
 */
export function waitForRead(queue: Queue, channel: Channel, retry: () => void): void {
  const { connection, context } = channel;
  const { zone } = context;
  connection.hold(HOLD_STORE);
  const resume = () => {
    if (channel.isReleased) return;
    zone.isBroker = false;
    try {
      connection.unhold(HOLD_STORE);
      retry();
    } catch (error) {
      handleFailure(connection, error);
    }
    zone.isBroker = true;
  };
  zone.run(() => queue.whenRead(resume));
}
