// Writes metrics in Prometheus' text format. metrics.ts calls it with names and values. It knows
// the format and nothing about a broker.

import type { Histogram } from "../broker/metrics.ts";

/** Labels of one sample. */
export type Labels = Readonly<Record<string, string>>;

/** The media type of {@linkcode PrometheusText.text}. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A growing page of metrics. */
export class PrometheusText {
  #lines: string[] = [];

  /** The whole page. */
  get text(): string {
    return `${this.#lines.join("\n")}\n`;
  }

  /** Adds a value that goes up and down. */
  gauge(name: string, help: string, value: number, labels: Labels = {}): void {
    this.#head(name, help, "gauge");
    this.#sample(name, value, labels);
  }

  /** Adds several values of one name, told apart by their labels. */
  gauges(
    name: string,
    help: string,
    samples: readonly { value: number; labels: Labels }[],
  ): void {
    this.#head(name, help, "gauge");
    for (const { value, labels } of samples) this.#sample(name, value, labels);
  }

  /** Adds a value that only grows. */
  counter(name: string, help: string, value: number, labels: Labels = {}): void {
    this.#head(name, help, "counter");
    this.#sample(name, value, labels);
  }

  /** Adds a histogram with its buckets, sum and count. */
  histogram(name: string, help: string, histogram: Histogram): void {
    this.#head(name, help, "histogram");
    let cumulative = 0;
    for (const [index, bound] of histogram.bounds.entries()) {
      cumulative += histogram.counts[index]!;
      this.#sample(`${name}_bucket`, cumulative, { le: String(bound) });
    }
    this.#sample(`${name}_bucket`, histogram.count, { le: "+Inf" });
    this.#sample(`${name}_sum`, histogram.sum, {});
    this.#sample(`${name}_count`, histogram.count, {});
  }

  #head(name: string, help: string, type: string): void {
    this.#lines.push(`# TYPE ${name} ${type}`, `# HELP ${name} ${help}`);
  }

  #sample(name: string, value: number, labels: Labels): void {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escape(text)}"`);
    const suffix = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
    this.#lines.push(`${name}${suffix} ${value}`);
  }
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
