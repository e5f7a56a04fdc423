// Makes the answer to a list request out of many items, in bounded steps beside the turns. It never
// holds the whole answer: names are filtered and sorted first, then the shown items become text a
// piece at a time, as the client reads. The queue list uses it; list_query.ts reads the request.

import type { ManagementContext } from "./context.ts";
import type { ListDesk, Seat } from "./list_desk.ts";
import {
  assertPageExists,
  compareValues,
  type ListQuery,
  type Page,
  pageOf,
  pick,
  type SortValue,
  sortValueAt,
} from "./list_query.ts";
import { pacedSort } from "./paced_sort.ts";
import { badRequest, logFailure } from "./problems.ts";
import { Pace, type Slices } from "./slices.ts";

type Json = Record<string, unknown>;

/** The items of a list, of any kind. */
export interface ListSource<T> {
  /** Returns all items, in no order. Called in a turn, and read in many. */
  items(): Iterable<T>;
  /** The order of a list without `sort`. */
  compare(a: T, b: T): number;
  nameOf(item: T): string;
  /** Whether the item still exists. */
  exists(item: T): boolean;
  /** Returns the item as JSON. Called in a turn. */
  show(item: T): Json;
}

/**
 * The parts that lists share: turns to read in, the slices and the seats.
 */
export interface ListRoom {
  readonly context: ManagementContext;
  readonly slices: Slices;
  readonly desk: ListDesk;
}

/** The parts of one list. */
export interface OwnRoom extends ListRoom {
  /** Whether the answer has no body. */
  readonly isHead: boolean;
  /** Breaks the client's connection off. */
  drop(): void;
}

const MATCHES = { matches: true, steps: 0 };

/** Units of work for looking at the name of an item. */
const ITEM_UNITS = 1;
/** Units of work for showing an item, and for each column picked from it. */
const SHOW_UNITS = 40;
const COLUMN_UNITS = 1;
/** Steps of a pattern that take about as long as a unit of work. */
const PATTERN_STEPS_PER_UNIT = 20;
/** The most steps that one request may spend on its pattern, over all names. */
const PATTERN_STEPS_MAX = 100_000_000;
/** The text of a list is sent in pieces of about this many characters. */
const PIECE_CHARACTERS = 65_536;
/** Lists up to this length are answered in one piece. */
const SHORT_COUNT_MAX = 50;
const JSON_TYPE = { "content-type": "application/json" };

/** Answers a list request: a plain array, or a page with its counts. */
export async function answerList<T>(
  query: ListQuery,
  source: ListSource<T>,
  room: OwnRoom,
): Promise<Response> {
  const seat = await room.desk.enter();
  let isHandedOn = false;
  try {
    const list = new List(query, source, { room, seat });
    const shown = await list.choose();
    if (query.page !== null) return await list.page(shown, query.page);
    if (shown.length <= SHORT_COUNT_MAX) return await list.whole(shown);
    if (room.isHead) return new Response(null, { headers: JSON_TYPE });
    isHandedOn = true;
    return list.stream(shown);
  } finally {
    if (!isHandedOn) seat.leave();
  }
}

class List<T> {
  readonly #query: ListQuery;
  readonly #source: ListSource<T>;
  readonly #room: OwnRoom;
  readonly #seat: Seat;
  readonly #pace: Pace;
  #totalCount = 0;

  constructor(query: ListQuery, source: ListSource<T>, place: { room: OwnRoom; seat: Seat }) {
    this.#query = query;
    this.#source = source;
    this.#room = place.room;
    this.#seat = place.seat;
    this.#pace = new Pace(place.room.slices);
  }

  /** Returns the items of all pages that were asked for, in the order that was asked for. */
  async choose(): Promise<T[]> {
    await this.#next();
    const items = this.#room.context.turn(() => this.#source.items());
    const filtered = await this.#filter(items);
    const { sort, isReverse } = this.#query;
    const named = await pacedSort(filtered, this.#source.compare, this.#pace);
    if (sort !== null) return this.#sortByValue(named, sort);
    return isReverse ? named.reverse() : named;
  }

  async #filter(items: Iterable<T>): Promise<T[]> {
    const { filter } = this.#query;
    const filtered: T[] = [];
    let stepsLeft = PATTERN_STEPS_MAX;
    for (const item of items) {
      this.#totalCount++;
      const { matches, steps } = filter?.(this.#source.nameOf(item)) ?? MATCHES;
      if (matches) filtered.push(item);
      stepsLeft -= steps;
      if (stepsLeft < 0) throw badRequest("name takes too long to be compared with every name");
      if (this.#pace.spend(ITEM_UNITS + steps / PATTERN_STEPS_PER_UNIT)) await this.#next();
    }
    return filtered;
  }

  async #sortByValue(items: readonly T[], path: string): Promise<T[]> {
    const direction = this.#query.isReverse ? -1 : 1;
    const pairs: { item: T; value: SortValue }[] = [];
    let at = 0;
    while (at < items.length) {
      this.#room.context.turn(() => {
        let isOver = false;
        for (; at < items.length && !isOver; at++) {
          const item = items[at]!;
          pairs.push({ item, value: sortValueAt(this.#source.show(item), path) });
          isOver = this.#pace.spend(SHOW_UNITS);
        }
      });
      if (at < items.length) await this.#next();
    }
    const sorted = await pacedSort(
      pairs,
      (a, b) => direction * compareValues(a.value, b.value),
      this.#pace,
    );
    return sorted.map(({ item }) => item);
  }

  /** Answers with one page and its counts. */
  async page(items: readonly T[], page: Page): Promise<Response> {
    assertPageExists(page, items.length);
    const start = (page.number - 1) * page.size;
    const shown = await this.#show(items.slice(start, start + page.size));
    const counts = { filteredCount: items.length, totalCount: this.#totalCount };
    return Response.json(pageOf(shown, page, counts));
  }

  /** Answers with all of a short list. */
  async whole(items: readonly T[]): Promise<Response> {
    return Response.json(await this.#show(items));
  }

  async #show(items: readonly T[]): Promise<Json[]> {
    const shown: Json[] = [];
    let at = 0;
    while (at < items.length) {
      at = this.#showSlice(items, at, (json) => shown.push(json) < 0);
      if (at < items.length) await this.#next();
    }
    return shown;
  }

  // Shows items from `start` on until the slice is over or `take` has enough. Returns where to go
  // on.
  #showSlice(items: readonly T[], start: number, take: (json: Json) => boolean): number {
    const { columns } = this.#query;
    const units = SHOW_UNITS + COLUMN_UNITS * (columns?.length ?? 0);
    return this.#room.context.turn(() => {
      let at = start;
      let isOver = false;
      while (at < items.length && !isOver) {
        const item = items[at++]!;
        const isFull = this.#source.exists(item) && take(pick(this.#source.show(item), columns));
        isOver = this.#pace.spend(units) || isFull;
      }
      return at;
    });
  }

  /** Answers with all of a long list, made while the client reads. */
  stream(items: readonly T[]): Response {
    const seat = this.#seat;
    const encoder = new TextEncoder();
    let at = 0;
    let opening = "[";
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      let text = "";
      await this.#next();
      at = this.#showSlice(items, at, (json) => {
        text += opening + JSON.stringify(json);
        opening = ",";
        return text.length >= PIECE_CHARACTERS;
      });
      if (at < items.length) {
        // All items of the slice may be gone.
        if (text === "") return pull(controller);
        controller.enqueue(encoder.encode(text));
        return;
      }
      controller.enqueue(encoder.encode(opening === "[" ? "[]" : `${text}]`));
      controller.close();
      seat.leave();
    };
    const { drop, context } = this.#room;
    seat.onLost = drop;
    // The adapter writes errors of a stream to the console, so the stream has none. Its end comes
    // with that of the connection.
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        pull(controller).catch((error: unknown) => {
          seat.leave();
          logFailure(context.broker.logger, error);
          drop();
        }),
      cancel: () => seat.leave(),
    }, { highWaterMark: 0 });
    return new Response(body, { headers: JSON_TYPE });
  }

  async #next(): Promise<void> {
    await this.#pace.next();
    this.#seat.touch();
  }
}
