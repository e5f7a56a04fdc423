// The results as a picture: for each number of pending timers one bar a structure, as long as its
// time per timer in the hold model beside the core's. Called by main.ts; pure, plain SVG.

import { find, type PlaceName, type Report, type Result } from "./results.ts";
import { sizeName, timesCore } from "./tables.ts";

const width = 860;
const nameWidth = 170;
const valueWidth = 150;
const barHeight = 18;
const barStep = 24;
const panelHead = 38;
const topHeight = 70;
const axisHeight = 48;
const font = "system-ui, -apple-system, 'Segoe UI', sans-serif";

interface Bar {
  readonly name: string;
  readonly ns: number;
  readonly times: number;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

interface Label {
  readonly x: number;
  readonly y: number;
  readonly size?: number;
  readonly anchor?: "start" | "middle" | "end";
  readonly weight?: number;
  readonly fill?: string;
}

function label(text: string, { x, y, size, anchor, weight, fill }: Label): string {
  return `<text x="${x}" y="${y}" font-size="${size ?? 13}" text-anchor="${anchor ?? "start"}"` +
    ` font-weight="${weight ?? 400}" fill="${fill ?? "#24292f"}">${escaped(text)}</text>`;
}

function barsOf(report: Report, place: PlaceName, pending: number): Bar[] {
  const isShown = (one: Result) =>
    one.shape === "uniform" && one.pending === pending &&
    (one.place === place || one.place === "native");
  return report.results.filter(isShown)
    .map((one) => ({ name: one.subject, ns: one.holdNs ?? 0, times: timesCore(report, one) ?? 0 }))
    .filter(({ ns, times }) => ns > 0 && times > 0)
    .sort((a, b) => a.times - b.times);
}

/** Steps of the axis: round numbers, about six of them. */
function axisStep(most: number): number {
  return [1, 2, 5, 10, 20, 50, 100].find((step) => most / step <= 7) ?? 200;
}

function panel(
  bars: readonly Bar[],
  title: string,
  scale: { y: number; perTime: number },
): string[] {
  const parts = [label(title, { x: 16, y: scale.y + 24, size: 14, weight: 600 })];
  bars.forEach((bar, at) => {
    const y = scale.y + panelHead + at * barStep;
    const length = Math.max(2, bar.times * scale.perTime);
    const isCore = bar.name === "core";
    parts.push(
      label(bar.name, { x: nameWidth - 8, y: y + 13, anchor: "end", weight: isCore ? 600 : 400 }),
      `<rect x="${nameWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"` +
        ` fill="${isCore ? "#1a7f37" : "#8c959f"}"/>`,
      label(`${bar.times.toFixed(1)} ×  (${bar.ns.toFixed(0)} ns)`, {
        x: nameWidth + length + 6,
        y: y + 13,
        size: 12,
        fill: "#57606a",
      }),
    );
  });
  return parts;
}

function axis(most: number, perTime: number, bottom: number): string[] {
  const parts: string[] = [];
  const step = axisStep(most);
  for (let mark = 0; mark <= most; mark += step) {
    const x = (nameWidth + mark * perTime).toFixed(1);
    parts.push(
      `<line x1="${x}" x2="${x}" y1="${topHeight}" y2="${bottom}" stroke="#d0d7de"/>`,
      label(String(mark), {
        x: Number(x),
        y: bottom + 16,
        size: 12,
        anchor: "middle",
        fill: "#57606a",
      }),
    );
  }
  const middle = nameWidth + (width - nameWidth - valueWidth) / 2;
  const name = "processor time per timer, as a multiple of the core's (shorter is faster)";
  parts.push(label(name, { x: middle, y: bottom + 36, size: 12, anchor: "middle" }));
  return parts;
}

/** The whole picture, of the first runtime that was measured and the compiled languages. */
export function draw(report: Report): string {
  const place = report.results.find((one) => one.place !== "native")?.place ?? "deno";
  const sizes = [...new Set(report.results.map((one) => one.pending))].sort((a, b) => a - b)
    .filter((pending) => find(report, { place, subject: "core", shape: "uniform", pending }));
  const panels = sizes.map((pending) => ({ pending, bars: barsOf(report, place, pending) }));
  const most = Math.max(1, ...panels.flatMap(({ bars }) => bars.map((bar) => bar.times)));
  const perTime = (width - nameWidth - valueWidth) / most;
  const shapes: string[] = [];
  let y = topHeight;
  for (const { pending, bars } of panels) {
    shapes.push(...panel(bars, `${sizeName(pending)} timers pending`, { y, perTime }));
    y += panelHead + bars.length * barStep + 8;
  }
  const version = `${place} ${report.versions[place] ?? ""}`.trim();
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + axisHeight}"` +
    ` viewBox="0 0 ${width} ${y + axisHeight}" font-family="${escaped(font)}">`,
    `<title>Timers taken out and put back: the timing core beside other priority queues</title>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    label("Taking out a due timer and putting one back", { x: 16, y: 30, size: 18, weight: 600 }),
    label(`hold model, delays uniform over an hour, ${version}; C++ and Rust compiled natively`, {
      x: 16,
      y: 52,
      fill: "#57606a",
    }),
    ...axis(most, perTime, y),
    ...shapes,
    "</svg>",
    "",
  ].join("\n");
}
