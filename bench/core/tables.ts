// The results as Markdown: the goals first, then hold, bulk, memory and the longest calls. Called by
// main.ts; pure. A figure that was not measured is an empty cell.

import { find, type PlaceName, type Report, type Result } from "./results.ts";
import type { ShapeName } from "./shapes.ts";

/** A column: its heading, and its cell for a row. */
type Row = readonly string[];

const superscripts = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

/** A power of ten as one, other numbers with separators. */
export function sizeName(pending: number): string {
  const exponent = Math.log10(pending);
  if (!Number.isInteger(exponent)) return pending.toLocaleString("en");
  return `10${[...String(exponent)].map((digit) => superscripts[Number(digit)]).join("")}`;
}

/** A padded table, the first column to the left and the others to the right. */
function table(head: Row, rows: readonly Row[]): string {
  const widths = head.map((name, at) =>
    Math.max(3, name.length, ...rows.map((row) => row[at]!.length))
  );
  const line = (cells: Row) =>
    `| ${
      cells.map((cell, at) => at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))
        .join(" | ")
    } |`;
  const rule = widths.map((width, at) =>
    at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`
  );
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)].join("\n");
}

function sorted<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

function ns(value: number | undefined): string {
  return value === undefined || value === 0 ? "" : value.toFixed(0);
}

function ms(value: number | undefined): string {
  return value === undefined || value === 0 ? "" : value.toFixed(value < 0.1 ? 3 : 2);
}

/** How many times the core's time another one takes; a native one beside the core under the first runtime. */
export function timesCore(report: Report, one: Result): number | undefined {
  const place = one.place === "native" ? report.results.find(isOfRuntime)?.place : one.place;
  const core = place && find(report, { ...one, place, subject: "core" });
  if (!core?.holdNs || !one.holdNs) return undefined;
  return one.holdNs / core.holdNs;
}

function isOfRuntime(one: Result): boolean {
  return one.place !== "native";
}

function times(value: number | undefined): string {
  return value === undefined ? "" : `${value.toFixed(1)} ×`;
}

interface Found {
  readonly report: Report;
  readonly places: PlaceName[];
  readonly sizes: number[];
  readonly shapes: ShapeName[];
}

/** Rows for each place and subject that has any result of the shape. */
function rowsOf(found: Found, shape: ShapeName, cells: (one: Result | undefined) => Row): Row[] {
  const { report, places, sizes } = found;
  const ordered = [...places.filter((place) => place !== "native"), "native" as const];
  return ordered.flatMap((place) => {
    const inPlace = report.results.filter((one) => one.place === place && one.shape === shape);
    return sorted(inPlace.map((one) => one.subject)).map((subject) => [
      place === "native" ? subject : `${subject}, ${place}`,
      ...sizes.flatMap((pending) => cells(find(report, { place, subject, shape, pending }))),
    ]);
  });
}

function headOf(found: Found, names: Row): Row {
  return ["", ...found.sizes.flatMap((size) => names.map((name) => `${sizeName(size)} ${name}`))];
}

const goalTimes: readonly (readonly [number, number])[] = [[1e5, 2], [1e6, 5], [1e7, 10]];
const goalBytes = 16;

function goals({ report, places }: Found): string {
  const runtimes = places.filter((place) => place !== "native");
  const rows = goalTimes.map(([pending, goal]): Row => [
    `flatqueue ÷ core at ${sizeName(pending)}: ≥ ${goal}`,
    ...runtimes.map((place) => {
      const other = find(report, { place, subject: "flatqueue", shape: "uniform", pending });
      const found = other && timesCore(report, other);
      return found === undefined ? "" : `${found.toFixed(1)}${found >= goal ? "" : ", not met"}`;
    }),
  ]);
  const bytes = goalTimes.map(([pending]): Row => [
    `bytes per timer at ${sizeName(pending)}: ≤ ${goalBytes}`,
    ...runtimes.map((place) => {
      const found = find(report, { place, subject: "core", shape: "uniform", pending })?.liveBytes;
      return found === undefined
        ? ""
        : `${found.toFixed(1)}${found <= goalBytes ? "" : ", not met"}`;
    }),
  ]);
  return table(["goal, uniform delays", ...runtimes], [...rows, ...bytes]);
}

function memory(found: Found): string {
  const bytes = (value: number | undefined) => value ? value.toFixed(1) : "";
  return table(
    headOf(found, ["in use", "resident"]),
    rowsOf(found, "uniform", (one) => [bytes(one?.liveBytes), bytes(one?.residentBytes)]),
  );
}

function calls(found: Found): string {
  const cells = (one: Result | undefined) => [
    ms(one?.worstInsertMs),
    ms(one?.worstPopMs),
    ms(one?.worstCancelMs),
  ];
  const rows = found.shapes.flatMap((shape) =>
    rowsOf(found, shape, cells)
      .filter((row) => row.slice(1).some((cell) => cell !== ""))
      .map(([name = "", ...rest]) => [`${name}, ${shape}`, ...rest])
  );
  return table(headOf(found, ["insert", "pop", "cancel"]), rows);
}

/** All tables. */
export function tables(report: Report): string {
  const found: Found = {
    report,
    places: sorted(report.results.map((one) => one.place)),
    sizes: sorted(report.results.map((one) => one.pending)).sort((a, b) => a - b),
    shapes: sorted(report.results.map((one) => one.shape)),
  };
  const versions = Object.entries(report.versions).filter(([, version]) => version !== "")
    .map(([place, version]) => `${place} ${version}`);
  const parts = [`${report.machine}; ${versions.join("; ")}.`];
  if (report.skipped.length > 0) parts.push(`Skipped: ${report.skipped.join("; ")}.`);
  parts.push("### Beside the goals", goals(found));
  for (const shape of found.shapes) {
    parts.push(
      `### Hold, ${shape} delays: CPU ns per timer, and times the core`,
      table(
        headOf(found, ["ns", "÷ core"]),
        rowsOf(found, shape, (one) => [ns(one?.holdNs), times(one && timesCore(report, one))]),
      ),
    );
  }
  for (const shape of found.shapes) {
    parts.push(
      `### Bulk, ${shape} delays: CPU ns per timer`,
      table(
        headOf(found, ["insert", "drain"]),
        rowsOf(found, shape, (one) => [ns(one?.insertNs), ns(one?.drainNs)]),
      ),
    );
  }
  parts.push("### Bytes per timer, uniform delays", memory(found));
  const hasCalls = report.results.some((one) => one.worstInsertMs !== undefined);
  if (hasCalls) parts.push("### Longest single call: elapsed ms", calls(found));
  return parts.join("\n\n");
}
