// How large the pieces of a data folder are and when housekeeping begins: one set of numbers that
// FileStore hands to everything below it. The defaults are for real disks; simulations give tiny ones,
// so that every boundary is crossed all the time. Nothing on disk depends on them.

/** Sizes and thresholds of a file store, bytes unless the name says otherwise. */
export interface StoreSizes {
  /** A log file is full from here on. */
  logFileBytes: number;
  /** Log bytes after which a snapshot is worth taking. */
  snapshotLogBytes: number;
  /** A batch of a snapshot ends here: so much is lost with a bit that turns over in it. */
  snapshotBatchBytes: number;
  /** A piece of a snapshot ends here, */
  snapshotPieceBytes: number;
  /** or when this many references have been looked at. */
  snapshotPieceRefs: number;
  /** A segment file is full from here on. */
  segmentFileBytes: number;
  /** Records copied in one go when a file is emptied, in bytes */
  moveGroupBytes: number;
  /** and in number. */
  moveGroupRecords: number;
  /** Dead segment files that wait for a snapshot make one worth taking beyond this. */
  heldBackBytesMax: number;
  /** Dead bytes that a folder may hold beyond as many as are alive. */
  moveSlackBytes: number;
  /** Records below this stay in memory: what would remain of them is as large. */
  evictRecordBytesMin: number;
  /** While pages can be written instead, records below this stay for them. */
  evictUnpagedBytesMin: number;
  /** Messages in the first chunk of a lane, */
  laneFirstSlots: number;
  /** and in any other; a page holds no more than a chunk. */
  laneSlots: number;
  /** A page ends here, in bytes. */
  pageBytes: number;
  /** Chunks whose bodies are larger are not written to pages. */
  pagedChunkBytesMax: number;
  /** Bytes of pages written in one go, */
  pageGroupBytes: number;
  /** and messages in them: small ones take longer than their bytes say, */
  pageGroupMessages: number;
  /** and how many may wait to be safe. */
  pagesInFlightBytes: number;
  /** Lanes that are too short to have cold chunks give up others with at least this many messages. */
  sparePageMessagesMin: number;
  /** Purged messages that are let go of in one go. */
  discardedPerStep: number;
  /** Delayed messages are read from their page so long before the first of them wakes, ms. */
  delayedLeadMs: number;
  /** Written bytes that nobody waits for are synced beyond this. */
  lazySyncBytes: number;
  /** The disk is asked for its room after this many bytes logged. */
  roomCheckBytes: number;
  /** Room that is kept for the day the disk is full; none with 0. */
  reserveBytes: number;
}

const MIB = 1024 * 1024;

/** The sizes of a real folder. */
export const DEFAULT_SIZES: Readonly<StoreSizes> = {
  logFileBytes: 64 * MIB,
  snapshotLogBytes: 128 * MIB,
  snapshotBatchBytes: 512,
  snapshotPieceBytes: 64 * 1024,
  snapshotPieceRefs: 8192,
  segmentFileBytes: 64 * MIB,
  moveGroupBytes: 256 * 1024,
  moveGroupRecords: 256,
  heldBackBytesMax: 256 * MIB,
  moveSlackBytes: 256 * MIB,
  evictRecordBytesMin: 64,
  evictUnpagedBytesMin: 32 * 1024,
  laneFirstSlots: 32,
  laneSlots: 1024,
  pageBytes: 256 * 1024,
  pagedChunkBytesMax: 4 * MIB,
  pageGroupBytes: MIB,
  pageGroupMessages: 1024,
  pagesInFlightBytes: 16 * MIB,
  sparePageMessagesMin: 64,
  discardedPerStep: 4096,
  delayedLeadMs: 1000,
  lazySyncBytes: 4 * MIB,
  roomCheckBytes: 16 * MIB,
  reserveBytes: MIB,
};
