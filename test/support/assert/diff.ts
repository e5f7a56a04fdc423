// A line diff for the message of a failed assertEquals: `-` only in the actual value, `+` only in
// the expected one. The longest common subsequence, bounded, because a test may compare megabytes.
// It knows nothing about values; test/support/assert/format.ts makes the lines.

const CELLS_MAX = 1_000_000;
const CONTEXT_LINES = 3;
const SHOWN_LINES_MAX = 200;

/** Shows two texts line by line; unchanged lines far from any difference are left out. */
export function diffLines(actual: string, expected: string): string {
  const left = actual.split("\n");
  const right = expected.split("\n");
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head++;
  let tail = 0;
  while (
    tail < left.length - head && tail < right.length - head &&
    left[left.length - 1 - tail] === right[right.length - 1 - tail]
  ) tail++;
  const middle = diffMiddle(
    left.slice(head, left.length - tail),
    right.slice(head, right.length - tail),
  );
  const lines = [
    ...left.slice(0, head).map((line) => `  ${line}`),
    ...middle,
    ...left.slice(left.length - tail).map((line) => `  ${line}`),
  ];
  return elide(lines).join("\n");
}

function diffMiddle(left: string[], right: string[]): string[] {
  if (left.length * right.length > CELLS_MAX) {
    return [...left.map((line) => `- ${line}`), ...right.map((line) => `+ ${line}`)];
  }
  return walk(left, right, commonLengths(left, right));
}

/** `lengths[i * width + j]` is the longest common subsequence of `left[i..]` and `right[j..]`. */
function commonLengths(left: string[], right: string[]): Uint32Array {
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      lengths[i * width + j] = left[i] === right[j]
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  return lengths;
}

function walk(left: string[], right: string[], lengths: Uint32Array): string[] {
  const width = right.length + 1;
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      lines.push(`  ${left[i]}`);
      i++;
      j++;
    } else if (
      j >= right.length ||
      (i < left.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
    ) {
      lines.push(`- ${left[i++]}`);
    } else {
      lines.push(`+ ${right[j++]}`);
    }
  }
  return lines;
}

/** Keeps the changed lines and a little around them, and never more than a screenful or two. */
function elide(lines: string[]): string[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, index) => {
    if (line.startsWith("  ")) return;
    near.fill(1, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1);
  });
  const kept: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    if (near[i] === 1) kept.push(lines[i]!);
    else if (kept[kept.length - 1] !== "  ...") kept.push("  ...");
  }
  if (kept.length <= SHOWN_LINES_MAX) return kept;
  return [...kept.slice(0, SHOWN_LINES_MAX), `  ... ${kept.length - SHOWN_LINES_MAX} more lines`];
}
