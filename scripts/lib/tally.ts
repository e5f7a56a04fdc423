// Counts of tests: read from a JUnit report, added up over runs, printed as the closing line and read back. The
// runners' own closing lines differ; the reports agree. Used by the test scripts; runs nothing.

/** How many tests ended how, and which failed. */
export interface Tally {
  /** Tests that ran and held. */
  passed: number;
  /** Tests that ran and did not hold, and runs that broke. */
  failed: number;
  /** Tests that were not run on purpose. */
  skipped: number;
  /** One line for each failure. */
  failures: string[];
}

/** A tally with nothing in it. */
export function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: 0, failures: [] };
}

/** Adds `more` to `total`. */
export function addTally(total: Tally, more: Tally): void {
  total.passed += more.passed;
  total.failed += more.failed;
  total.skipped += more.skipped;
  total.failures.push(...more.failures);
}

/** Notes something that passed or failed as a whole, such as a gate or a run. */
export function addCheck(total: Tally, name: string, ok: boolean): void {
  if (ok) total.passed++;
  else {
    total.failed++;
    total.failures.push(name);
  }
}

/** The closing line. */
export function closingLine(tally: Tally): string {
  return `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
}

const CLOSING_LINE = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;

/** Reads back the last closing line and the failures named just before it; none is one failure. */
export function readClosingLine(output: string, label: string): Tally {
  const tally = emptyTally();
  const lines = output.split("\n");
  const at = lines.findLastIndex((line) => CLOSING_LINE.test(line));
  const [, passed, failed, skipped] = CLOSING_LINE.exec(lines[at] ?? "") ?? [];
  if (passed === undefined) addCheck(tally, `${label}: printed no closing line`, false);
  tally.passed += Number(passed ?? 0);
  tally.failed += Number(failed ?? 0);
  tally.skipped += Number(skipped ?? 0);
  for (let i = at - 1; lines[i]?.startsWith("failed: "); i--) {
    tally.failures.unshift(lines[i]!.slice("failed: ".length));
  }
  return tally;
}

const TEST_CASE = /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

/** Counts the test cases of a JUnit report; each failure is named after `label`. */
export function readJunit(xml: string, label: string): Tally {
  const tally = emptyTally();
  for (const [, attributes = "", body = ""] of xml.matchAll(TEST_CASE)) {
    if (/<(failure|error)\b/.test(body)) {
      tally.failed++;
      tally.failures.push(`${label}: ${attribute(attributes, "name")}`);
    } else if (/<skipped\b/.test(body)) tally.skipped++;
    else tally.passed++;
  }
  return tally;
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return value.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity]!);
}
