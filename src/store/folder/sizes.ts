// The sizes of the pieces of a data folder, and the thresholds of housekeeping: one set of numbers
// that FileStore hands to everything below it. The defaults are for real disks. Simulations pass
// tiny ones, so that every boundary is crossed all the time. Nothing on disk depends on them.

/** Sizes and thresholds of a file store, in bytes unless the name says otherwise. */
export interface StoreSizes {
  /** A log file is full at this size. */
  logFileBytes: number;
  /** Log bytes after which a snapshot is worth taking. */
  snapshotLogBytes: number;
  /** A batch of a snapshot ends at this size. A flipped bit costs one such batch. */
  snapshotBatchBytes: number;
  /** A piece of a snapshot ends at this size. */
  snapshotPieceBytes: number;
  /** A piece of a snapshot ends when this many references have been looked at. */
  snapshotPieceRefs: number;
  /** A segment file is full at this size. */
  segmentFileBytes: number;
  /** Bytes of records that are copied in one go when a file is emptied. */
  moveGroupBytes: number;
  /** Number of records that are copied in one go. */
  moveGroupRecords: number;
  /**
   * A snapshot is worth taking when dead segment files that wait for it have more bytes than this.
   */
  heldBackBytesMax: number;
  /** Dead bytes that a folder may hold beyond the number of its live bytes. */
  moveSlackBytes: number;
  /** Records below this size stay in memory, because their stubs are as large. */
  evictRecordBytesMin: number;
  /** While pages can be written, records below this size stay in memory to go into them. */
  evictUnpagedBytesMin: number;
  /** Messages in the first chunk of a lane. */
  laneFirstSlots: number;
  /** Messages in any other chunk. A page holds no more than a chunk. */
  laneSlots: number;
  /** A page ends at this size. */
  pageBytes: number;
  /** Chunks with more bytes of bodies are not written to pages. */
  pagedChunkBytesMax: number;
  /** Bytes of pages that are written in one go. */
  pageGroupBytes: number;
  /** Messages in the pages of one go. Small messages take longer than their bytes suggest. */
  pageGroupMessages: number;
  /** Bytes of memory whose pages may wait to be safe. */
  pagesInFlightBytes: number;
  /**
   * Lanes that are too short to have cold chunks give up chunks with at least this many messages.
   */
  sparePageMessagesMin: number;
  /** Purged messages that are released in one go. */
  discardedPerStep: number;
  /** How long before the first of its messages wakes a page is read, ms. */
  delayedLeadMs: number;
  /** Written bytes for which no client waits are synced when there are more than this. */
  lazySyncBytes: number;
  /** The disk is asked for its free space after this many bytes logged. */
  roomCheckBytes: number;
  /** Room that is kept for when the disk is full; 0 for none. */
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
