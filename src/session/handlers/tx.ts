// The tx class: select, commit, rollback. The frame switch calls it; tx.ts holds the operations of a
// transaction. A commit is answered when all of its effects are safe; until then the later frames of
// the connection wait.

import { ChannelError, ConnectionError } from "../../amqp/errors.ts";
import type { FrameParser } from "../../amqp/frame_parser.ts";
import {
  decodeTxCommit,
  decodeTxRollback,
  decodeTxSelect,
  TX_COMMIT,
  TX_ROLLBACK,
  TX_SELECT,
  writeTxCommitOk,
  writeTxRollbackOk,
  writeTxSelectOk,
} from "../../amqp/methods_gen.ts";
import { PRECONDITION_FAILED, RESOURCE_ERROR } from "../../amqp/reply_code.ts";
import type { MessageSource } from "../../broker/publish/publisher.ts";
import {
  PUBLISH_LOGGED,
  PUBLISH_OVERFLOWED,
  PUBLISH_REFUSED,
} from "../../broker/publish/publisher.ts";
import { CAUSE_NACK, CAUSE_REJECT } from "../../broker/retry/rules.ts";
import type { Channel } from "../channel.ts";
import { publishNow } from "../publishing.ts";
import { waitForBatch } from "../store_wait.ts";
import type { HeldSettlement } from "../tx.ts";
import { SETTLE_ACK, SETTLE_REJECT, Transaction } from "../tx.ts";
import { unimplemented } from "./unimplemented.ts";
import { argumentsStart } from "./arguments.ts";

/** Handles a method of the class. */
export function handleTx(channel: Channel, key: number, frame: FrameParser): void {
  const { buffer, payloadEnd } = frame;
  const start = argumentsStart(frame);
  switch (key) {
    case TX_SELECT:
      decodeTxSelect(buffer, start, payloadEnd);
      return select(channel);
    case TX_COMMIT:
      decodeTxCommit(buffer, start, payloadEnd);
      return commit(channel, transactionOf(channel));
    case TX_ROLLBACK:
      decodeTxRollback(buffer, start, payloadEnd);
      transactionOf(channel).clear();
      return writeTxRollbackOk(channel.connection.writer(), channel.number);
    default:
      throw unimplemented(key);
  }
}

function transactionOf(channel: Channel): Transaction {
  if (channel.tx !== null) return channel.tx;
  throw new ChannelError(PRECONDITION_FAILED, "channel is not transactional");
}

function select(channel: Channel): void {
  if (channel.confirms.isOn) {
    throw new ChannelError(PRECONDITION_FAILED, "cannot switch from confirm to tx mode");
  }
  channel.tx ??= new Transaction(channel);
  writeTxSelectOk(channel.connection.writer(), channel.number);
}

function commit(channel: Channel, tx: Transaction): void {
  const { context } = channel;
  if (context.broker.safety.isReadOnly) {
    throw new ChannelError(RESOURCE_ERROR, "nothing can be committed at the moment");
  }
  let outcomes = 0;
  tx.takePublishes((source, mandatory) => {
    outcomes |= publishHeld(channel, source, mandatory);
  });
  for (const settlement of tx.takeSettlements()) settle(channel, settlement);
  channel.acked();
  const isPartial = (outcomes & (PUBLISH_OVERFLOWED | PUBLISH_REFUSED)) !== 0;
  const { safety } = context.broker;
  const isKept = (outcomes & PUBLISH_LOGGED) !== 0 || safety.hasChanges;
  if (!isKept) return answer(channel, isPartial);
  const batch = safety.wantOpenBatch();
  waitForBatch({
    channel,
    batch,
    resume: () => {
      if (safety.isFailed(batch)) {
        throw new ConnectionError(RESOURCE_ERROR, "commit was not stored");
      }
      answer(channel, isPartial);
    },
  });
}

// A publish that is no longer possible, because its exchange is gone, does not prevent the rest of the
// commit.
function publishHeld(channel: Channel, source: MessageSource, mandatory: boolean): number {
  try {
    return publishNow(channel, source, mandatory, 0);
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    channel.context.zone.isBroker = false;
    return PUBLISH_REFUSED;
  }
}

// Publishes and settlements that succeeded stay. The client is told that the commit was only partial.
function answer(channel: Channel, isPartial: boolean): void {
  if (isPartial) {
    channel.fail(new ChannelError(PRECONDITION_FAILED, "partial tx completion"), TX_COMMIT);
  } else writeTxCommitOk(channel.connection.writer(), channel.number);
}

function settle(channel: Channel, settlement: HeldSettlement): void {
  const { context, unacked } = channel;
  const { tags, kind, requeue } = settlement;
  const { metrics } = context.broker;
  context.zone.run(() => {
    for (const tag of tags) {
      if (kind === SETTLE_ACK) unacked.ack(tag, false);
      else unacked.reject(tag, false, requeue, kind === SETTLE_REJECT ? CAUSE_REJECT : CAUSE_NACK);
    }
  });
  if (kind === SETTLE_ACK) metrics.acked += tags.length;
  else metrics.rejected += tags.length;
}
