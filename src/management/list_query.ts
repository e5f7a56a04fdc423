// The query that every list understands: page, page_size, name, use_regex, sort, sort_reverse and
// columns. Handlers read it once, and list_answer.ts makes the list. Everything in it has a limit,
// because it is applied to every item. It never knows the kind of the items.

import { LinearPattern, PatternError } from "../lib/pattern/linear_pattern.ts";
import { badRequest, Problem } from "./problems.ts";

const PAGE_SIZE_DEFAULT = 100;
const PAGE_SIZE_MAX = 500;
/** Longest filter of names; a name has at most 255 bytes. */
const FILTER_LENGTH_MAX = 256;
/** The most steps of a pattern for each character of a name. */
const PATTERN_STEPS_MAX = 1_500;
const COLUMN_COUNT_MAX = 100;
const PATH_LENGTH_MAX = 255;
const PATH_DEPTH_MAX = 5;
/** Texts whose first 255 characters are equal count as equal. */
const SORT_TEXT_MAX = 255;

/** One page of a list. */
export interface Page {
  /** Number of the page, from 1. */
  readonly number: number;
  readonly size: number;
}

/** Tells whether a name matches, and how many steps that took. */
type NameFilter = (name: string) => { matches: boolean; steps: number };

/** The part of a list that a client asks for. */
export interface ListQuery {
  /** Null for the whole list as a plain array. */
  readonly page: Page | null;
  /** Null when every name matches. */
  readonly filter: NameFilter | null;
  /** Dotted path of the value to sort by. */
  readonly sort: string | null;
  readonly isReverse: boolean;
  /** Dotted paths of the members to show; null for all. */
  readonly columns: readonly string[] | null;
}

/** Gives one parameter of a query string, or undefined. */
export type QueryReader = (name: string) => string | undefined;

/** Reads the query of a list; throws a 400 for a wrong one. */
export function readListQuery(query: QueryReader): ListQuery {
  return {
    page: readPage(query),
    filter: readFilter(query("name"), query("use_regex") === "true"),
    sort: readSort(query("sort")),
    isReverse: query("sort_reverse") === "true",
    columns: readColumns(query("columns")),
  };
}

/** Returns the page that was asked for; null for the whole list. */
function readPage(query: QueryReader): Page | null {
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

function readFilter(name: string | undefined, isPattern: boolean): NameFilter | null {
  if (name === undefined || name === "") return null;
  if (name.length > FILTER_LENGTH_MAX) {
    throw badRequest(`name must have at most ${FILTER_LENGTH_MAX} characters`);
  }
  if (isPattern) return readPattern(name);
  const wanted = name.toLowerCase();
  return (candidate) => ({ matches: candidate.toLowerCase().includes(wanted), steps: 1 });
}

function readPattern(source: string): NameFilter {
  let pattern: LinearPattern;
  try {
    pattern = new LinearPattern(source, { ignoreCase: true });
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw badRequest(`name is not a usable regular expression: ${error.message}`);
  }
  if (pattern.stepsPerCharacterMax > PATTERN_STEPS_MAX) {
    throw badRequest("name is not a usable regular expression: it takes too many steps");
  }
  return (candidate) => {
    const matches = pattern.test(candidate);
    return { matches, steps: pattern.lastSteps };
  };
}

function readSort(path: string | undefined): string | null {
  if (!path) return null;
  assertPath("sort", path);
  return path;
}

function readColumns(text: string | undefined): readonly string[] | null {
  const columns = new Set((text ?? "").split(",").filter((column) => column !== ""));
  if (columns.size > COLUMN_COUNT_MAX) {
    throw badRequest(`columns must be at most ${COLUMN_COUNT_MAX}`);
  }
  for (const column of columns) assertPath("columns", column);
  return columns.size === 0 ? null : [...columns];
}

function assertPath(name: string, path: string): void {
  if (path.length <= PATH_LENGTH_MAX && path.split(".").length <= PATH_DEPTH_MAX) return;
  throw badRequest(
    `${name} must have at most ${PATH_LENGTH_MAX} characters and ${PATH_DEPTH_MAX} parts`,
  );
}

/** The number of items with a matching name, and of all. */
export interface Counts {
  readonly filteredCount: number;
  readonly totalCount: number;
}

/** Returns a page with its counts, in the form of every paged list. */
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

type Json = Record<string, unknown>;

/** A value by which items can be sorted. */
export type SortValue = number | string | null;

/** Returns the value at a dotted path, to sort by. */
export function sortValueAt(item: Json, path: string): SortValue {
  const value = valueAt(item, path);
  if (value === undefined || value === null) return null;
  return typeof value === "number" ? value : String(value).slice(0, SORT_TEXT_MAX);
}

function valueAt(item: unknown, path: string): unknown {
  let value = item;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Json)[key];
  }
  return value;
}

/**
 * Compares two values. Null comes before numbers and numbers before text, so that a column of mixed
 * values has one order.
 */
export function compareValues(a: SortValue, b: SortValue): number {
  const ranks = rank(a) - rank(b);
  if (ranks !== 0 || a === null || b === null) return ranks;
  return a < b ? -1 : a > b ? 1 : 0;
}

function rank(value: SortValue): number {
  if (value === null) return 0;
  return typeof value === "number" ? 1 : 2;
}

/** Returns the members of an item that were asked for; `a.b` stays inside an object `a`. */
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
