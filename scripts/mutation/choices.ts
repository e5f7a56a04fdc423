// Constants that weigh one cost against another: how much is done in one step, how much memory is kept
// for the next time, how long something rests before it is tried again. One more or one less of such a
// number is as right as the number itself, so no test can or should notice it. A constant stays out of
// this list when a promise, a bound of the specification or anything on the disk depends on it, and
// when the code relies on its value, like that of a mask. The mutation tool leaves out the numbers in
// the values of these constants, and nothing else: not the operators between them, nor the code that
// reads them.

const OF_FILES: Readonly<Record<string, readonly string[]>> = {
  "src/store/file_store.ts": ["HELD_RATIO", "LOG_FILES_MAX"],
  "src/store/folder/data_files.ts": ["OPEN_FOR_READING_MAX"],
  "src/store/folder/segment_writer.ts": ["DEAD_PART"],
  "src/store/folder/sizes.ts": ["DEFAULT_SIZES"],
  "src/store/live/holdings.ts": ["SEARCH_STEPS_MAX"],
  "src/store/log/batch_scan.ts": ["WINDOW_BYTES"],
  "src/store/log/buffer_pool.ts": [
    ...["ROOMY_COUNT_MAX", "BUFFER_BYTES_MIN", "BUFFER_BYTES_MAX", "KEPT_BYTES_MAX"],
  ],
  "src/store/memory/arena.ts": [
    ...["BLOCK_BYTES", "SHARED_RECORD_BYTES_MAX", "POOLED_BLOCKS_MAX", "HELD_RATIO_MAX"],
    ...["COMPACTION_SLACK_BYTES", "OPEN_BLOCKS", "HELD_PER_POOLED_BYTES", "COMPACTION_STEP_BYTES"],
  ],
  "src/store/memory/discards.ts": ["QUEUES_PER_STEP_MAX"],
  "src/store/memory/lane.ts": ["AHEAD_CHUNKS", "AHEAD_BYTES"],
  "src/store/memory/lane_chunk.ts": ["SMALL_SLOTS", "LARGE_SLOTS", "POOLED_CHUNKS_MAX"],
  "src/store/memory/requeued_heap.ts": ["FEW_MAX", "SORTED_MAX"],
  "src/store/memory/taken_lane.ts": ["PAGE_COST"],
  "src/store/memory_store.ts": ["DISCARDED_PER_STEP"],
  "src/store/format/batch_writer.ts": ["BEHIND_RECORD_BYTES"],
  "src/store/checksum.ts": ["WORDS_WORTH_BYTES"],
  "src/store/pages/cold_stretches.ts": ["STRETCHES_PER_LOOK", "SOURCES_PER_LOOK", "REST_MS"],
  "src/store/pages/page_loader.ts": ["DELAYED_READS_MAX", "ROOM"],
  "src/store/pages/page_writer.ts": ["KEPT_BYTES_MAX"],
  "src/store/pages/pager.ts": [
    ...["CALM_RATIO", "DELAYED_PART", "RETRY_MS", "COMMITTED_PER_STEP_MAX", "KEPT_BYTES_MAX"],
    ...["REFERENCE_BYTES", "HOLDING_BYTES", "DELAYED_MESSAGE_BYTES"],
  ],
  "src/store/pages/paging.ts": ["AHEAD_PART"],
  "src/store/recovery/position_table.ts": ["BLOCK_POSITIONS"],
  "src/store/residency/evictor.ts": [
    ...["REFS_PER_STEP", "BYTES_PER_STEP", "SPILLED_BYTES_MIN", "RETRY_MS"],
  ],
  "src/store/residency/read_ahead.ts": ["FIRST_RECORDS", "RECORDS_MAX", "STALE_HEADS"],
  "src/store/residency/record_reads.ts": [
    ...["AHEAD_BYTES", "AHEAD_PART", "UNDER_WAY_BYTES", "GAP_BYTES_MAX"],
  ],
  "src/store/residency/spiller.ts": ["GROUP_BYTES_MAX", "IN_FLIGHT_BYTES_MAX", "KEPT_BYTES_MAX"],
  "src/store/upkeep/keeper.ts": ["MOVE_RETRY_MS"],
  "src/store/upkeep/record_copies.ts": ["REFS_PER_STEP", "HOLDERS_PER_GROUP"],
  "src/store/upkeep/rescue.ts": ["INTERVAL_MS", "ROWS_MAX"],
  "src/store/upkeep/room.ts": ["CHECK_INTERVAL_MS", "CHECK_STEPS"],
  "src/store/upkeep/victims.ts": ["MOVE_BELOW_RATIO", "FILES_PER_TURN"],
};

/** Files with such constants. */
export const FILES_WITH_CHOICES: readonly string[] = Object.keys(OF_FILES);

/** Names of the constants of a file whose values are choices. */
export function choicesOf(file: string): readonly string[] {
  return OF_FILES[file] ?? [];
}
