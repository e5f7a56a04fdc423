// The content of a snapshot: the holdings, the definitions, pages and the lanes' positions, row by
// row. SnapshotWriter asks for a piece a turn. It changes nothing.

import type { Arena } from "../memory/arena.ts";
import type { Lane } from "../memory/lane.ts";
import type { Page } from "../page.ts";
import type { RecordView } from "../port.ts";
import { emptyView } from "../views.ts";
import type { Placed } from "../format/batch_writer.ts";
import type { Definitions } from "../live/definitions.ts";
import { type Holdings, NO_HOLDING } from "../live/holdings.ts";
import type { PageSet } from "../pages/page_set.ts";
import { emptyRow } from "../format/message_row.ts";
import type { SnapshotSource } from "./snapshot_writer.ts";

/** The state of a file store as a snapshot sees it. */
export class HoldingsSource implements SnapshotSource {
  readonly #holdings: Holdings;
  readonly #arena: Arena;
  readonly #definitions: Definitions;
  readonly #lanes: ReadonlyMap<number, Lane>;
  readonly #pages: PageSet;
  readonly #view: RecordView = emptyView();
  readonly #placed: Placed = { ...emptyRow(), queueId: 0, position: 0 };

  constructor(
    parts: {
      holdings: Holdings;
      arena: Arena;
      definitions: Definitions;
      lanes: ReadonlyMap<number, Lane>;
      pages: PageSet;
    },
  ) {
    this.#holdings = parts.holdings;
    this.#arena = parts.arena;
    this.#definitions = parts.definitions;
    this.#lanes = parts.lanes;
    this.#pages = parts.pages;
  }

  definitions(): ReturnType<SnapshotSource["definitions"]> {
    return this.#definitions.all();
  }

  *lastPositions(): Iterator<{ queueId: number; position: number }, undefined> {
    for (const [queueId, lane] of this.#lanes) yield { queueId, position: lane.nextPosition - 1 };
  }

  pages(): Iterator<Page, undefined> {
    return this.#pages.all();
  }

  lastQueueId(): number {
    return this.#definitions.lastQueueId;
  }

  get refEnd(): number {
    return this.#holdings.refEnd;
  }

  rowsOf(ref: number, visit: (placed: Placed) => void): void {
    const holdings = this.#holdings;
    let holding = holdings.first(ref);
    if (holding === NO_HOLDING) return;
    const view = this.#view;
    const placed = this.#placed;
    this.#arena.describe(ref, view);
    placed.file = holdings.fileOf(ref);
    placed.offset = holdings.offsetOf(ref);
    placed.recordBytes = holdings.recordBytesOf(ref);
    placed.flags = view.flags;
    placed.priority = view.priority;
    placed.bodyBytes = view.bodyEnd - view.bodyStart;
    placed.arrivalMs = view.arrivalMs;
    placed.expiryMs = view.expiryMs;
    for (; holding !== NO_HOLDING; holding = holdings.next(holding)) {
      placed.queueId = holdings.queueOf(holding);
      placed.position = holdings.positionOf(holding);
      placed.state = holdings.stateOf(holding);
      placed.entry = holdings.entryOf(holding);
      placed.dueMs = holdings.dueMsOf(holding);
      placed.delayNumber = holdings.delayNumberOf(holding);
      visit(placed);
    }
  }
}
