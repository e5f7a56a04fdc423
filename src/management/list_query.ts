// The query every list understands: page, page_size, name, use_regex, sort, sort_reverse and columns.
// Handlers read it once and hand it their items; it never knows what a list is of.

import { LinearPattern, PatternError } from "../lib/pattern/linear_pattern.ts";
import { badRequest, Problem } from "./problems.ts";

const PAGE_SIZE_DEFAULT = 100;
const PAGE_SIZE_MAX = 500;

/** One page of a list. */
export interface Page {
  /** From 1. */
  readonly number: number;
  readonly size: number;
}

/** What a client wants to see of a list. */
export interface ListQuery {
  /** Null for the whole list as a plain array. */
  readonly page: Page | null;
  readonly matches: (name: string) => boolean;
  /** Dotted path of the value to sort by. */
  readonly sort: string | null;
  readonly isReverse: boolean;
  /** Dotted paths of the members to show; null for all. */
  readonly columns: readonly string[] | null;
}

/** Gives one parameter of a query string, or undefined. */
export type QueryReader = (name: string) => string | undefined;

/** Reads the query of a list; throws a 400 for what makes no sense. */
export function readListQuery(query: QueryReader): ListQuery {
  return {
    page: readPage(query),
    matches: readFilter(query("name"), query("use_regex") === "true"),
    sort: query("sort") || null,
    isReverse: query("sort_reverse") === "true",
    columns: readColumns(query("columns")),
  };
}

/** The page asked for; null when the list is wanted as a whole. */
export function readPage(query: QueryReader): Page | null {
  const number = query("page");
  const size = query("page_size");
  if (number === undefined && size === undefined) return null;
  return {
    number: readCount("page", number ?? "1", Number.MAX_SAFE_INTEGER),
    size: readCount("page_size", size ?? String(PAGE_SIZE_DEFAULT), PAGE_SIZE_MAX),
  };
}

function readCount(name: string, text: string, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? "from 1" : `from 1 to ${max}`;
  throw badRequest(`${name} must be a whole number ${range}`);
}

function readFilter(name: string | undefined, isPattern: boolean): (name: string) => boolean {
  if (name === undefined || name === "") return () => true;
  if (!isPattern) {
    const wanted = name.toLowerCase();
    return (candidate) => candidate.toLowerCase().includes(wanted);
  }
  try {
    const pattern = new LinearPattern(name, { ignoreCase: true });
    return (candidate) => pattern.test(candidate);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw badRequest(`name is not a usable regular expression: ${error.message}`);
  }
}

function readColumns(text: string | undefined): readonly string[] | null {
  const columns = (text ?? "").split(",").filter((column) => column !== "");
  return columns.length === 0 ? null : columns;
}

/** How a list is made from items of any kind. */
export interface ListSource<T> {
  readonly items: readonly T[];
  nameOf(item: T): string;
  /** The item as JSON; called for what is shown, and for everything when it is sorted by a value. */
  show(item: T): Record<string, unknown>;
}

/** The answer to a list request: a plain array, or a page with its counts. */
export function answerList<T>(query: ListQuery, source: ListSource<T>): unknown {
  const filtered = source.items.filter((item) => query.matches(source.nameOf(item)));
  const { page } = query;
  const show = (item: T) => pick(source.show(item), query.columns);
  if (query.sort !== null) {
    const sorted = sortBy(filtered.map((item) => source.show(item)), query.sort, query.isReverse);
    const shown = (page === null ? sorted : cut(sorted, page)).map((json) =>
      pick(json, query.columns)
    );
    return page === null ? shown : pageOf(shown, page, counts(source, filtered));
  }
  if (query.isReverse) filtered.reverse();
  if (page === null) return filtered.map(show);
  return pageOf(cut(filtered, page).map(show), page, counts(source, filtered));
}

interface Counts {
  readonly filteredCount: number;
  readonly totalCount: number;
}

function counts<T>(source: ListSource<T>, filtered: readonly T[]): Counts {
  return { filteredCount: filtered.length, totalCount: source.items.length };
}

/** A page with its counts, the shape every paged list has. */
export function pageOf(items: readonly unknown[], page: Page, counts: Counts): unknown {
  return {
    items,
    page: page.number,
    page_count: Math.max(1, Math.ceil(counts.filteredCount / page.size)),
    page_size: page.size,
    item_count: items.length,
    filtered_count: counts.filteredCount,
    total_count: counts.totalCount,
  };
}

/** Refuses a page behind the last one, as RabbitMQ does. */
export function assertPageExists(page: Page, length: number): void {
  if (page.number === 1 || (page.number - 1) * page.size < length) return;
  const place = `page: ${page.number} size: ${page.size}, len: ${length}`;
  throw new Problem(400, "page_out_of_range", `Page out of range, ${place}`);
}

function cut<T>(items: readonly T[], page: Page): readonly T[] {
  assertPageExists(page, items.length);
  const start = (page.number - 1) * page.size;
  return items.slice(start, start + page.size);
}

type Json = Record<string, unknown>;

function sortBy(items: Json[], path: string, isReverse: boolean): Json[] {
  const direction = isReverse ? -1 : 1;
  return items
    .map((item) => ({ item, value: valueAt(item, path) }))
    .sort((a, b) => direction * compare(a.value, b.value))
    .map(({ item }) => item);
}

function valueAt(item: unknown, path: string): unknown {
  let value = item;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Json)[key];
  }
  return value;
}

// Nothing sorts before numbers and numbers before text, so that a column of both has one order.
function compare(a: unknown, b: unknown): number {
  const ranks = rank(a) - rank(b);
  if (ranks !== 0) return ranks;
  if (typeof a === "number" && typeof b === "number") return a - b;
  const left = String(a);
  const right = String(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

function rank(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === "number" ? 1 : 2;
}

/** The members of an item that were asked for, `a.b` inside an object `a`. */
export function pick(item: Json, columns: readonly string[] | null): Json {
  if (columns === null) return item;
  const picked: Json = {};
  for (const column of columns) {
    const value = valueAt(item, column);
    if (value !== undefined) place(picked, column.split("."), value);
  }
  return picked;
}

function place(target: Json, path: readonly string[], value: unknown): void {
  let inner = target;
  for (const key of path.slice(0, -1)) {
    if (!Object.hasOwn(inner, key)) inner[key] = {};
    inner = inner[key] as Json;
  }
  inner[path.at(-1)!] = value;
}
