// Random regular expressions against Erlang's `re`, which RabbitMQ uses: every text must get the same
// answer, and what one of the two refuses the other one must refuse.
//   deno task fuzz:patterns [--count=20000] [--seed=1] [--reasons]
// Prints each difference; exits with 1 when there was one. It is none when Perl agrees with us: the PCRE
// in Erlang sometimes goes back into an atomic group. A refusal of what is not supported is none either.
// The patterns of the corpus come first. --reasons also prints what both refuse for different reasons.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { LinearPattern, PatternError } from "../../src/lib/pattern/linear_pattern.ts";
import { Prng } from "../../src/lib/prng.ts";
import { option } from "../support/options.ts";
import { PATTERN_CORPUS } from "../support/pattern_corpus.ts";
import { RandomPatterns } from "../support/random_patterns.ts";
import { type Answer, askErlang, askPerl, hasErlang, type Question } from "./erlang_patterns.ts";

const TEXTS_PER_PATTERN = 12;

/** What we say, in Erlang's form; undefined for what is not supported. */
function ourAnswer({ pattern, texts }: Question): Answer | undefined {
  try {
    const compiled = new LinearPattern(pattern);
    return { matches: texts.map((text) => compiled.test(text) ? "1" : "0").join("") };
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const { message: reason, position } = error;
    return /not supported:|too large:|^\\[XC] is/.test(reason) ? undefined : { reason, position };
  }
}

function isSameRefusal(ours: Answer, theirs: Answer): boolean {
  return "reason" in ours && "reason" in theirs && ours.reason === theirs.reason &&
    ours.position === theirs.position;
}

function difference(question: Question, ours: Answer, theirs: Answer): string | null {
  const place = JSON.stringify(question.pattern);
  if ("reason" in ours || "reason" in theirs) {
    const areBoth = "reason" in ours && "reason" in theirs;
    return areBoth ? null : `${place}: ${JSON.stringify(ours)}, Erlang ${JSON.stringify(theirs)}`;
  }
  for (let i = 0; i < question.texts.length; i++) {
    if (theirs.matches[i] === "2" || theirs.matches[i] === ours.matches[i]) continue;
    const text = JSON.stringify(question.texts[i]);
    if (askPerl(question.pattern, question.texts[i]!) === ours.matches[i]) continue;
    return `${place} on ${text}: ${ours.matches[i]}, Erlang ${theirs.matches[i]}`;
  }
  return null;
}

if (!hasErlang()) {
  console.log("Erlang is not installed here: apt-get install erlang-base");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "reprise-patterns-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const random = new Prng(Number(option("seed", "1")));
const patterns = new RandomPatterns(random, "pcre");
const questions = Array.from({ length: Number(option("count", "20000")) }, (_, i): Question => ({
  pattern: i % 4 === 0 ? patterns.heap() : patterns.pattern(1 + random.nextBelow(4)),
  texts: Array.from({ length: TEXTS_PER_PATTERN }, () => patterns.text()),
}));
for (const { pattern, matches, misses, variables } of PATTERN_CORPUS) {
  if (variables === undefined) questions.unshift({ pattern, texts: [...matches, ...misses] });
}
const answers = askErlang(folder, questions);
const showsReasons = process.argv.includes("--reasons");
let differenceCount = 0;
let unsupportedCount = 0;
let positionCount = 0;
questions.forEach((question, i) => {
  const ours = ourAnswer(question);
  const theirs = answers[i]!;
  if (ours === undefined) return unsupportedCount++;
  const found = difference(question, ours, theirs);
  if (found === null) {
    if (!("reason" in ours) || isSameRefusal(ours, theirs)) return;
    positionCount++;
    if (showsReasons) console.log(`${question.pattern}: ${JSON.stringify([ours, theirs])}`);
    return;
  }
  differenceCount++;
  console.log(found);
});
console.log(
  `${questions.length} patterns, ${differenceCount} differences, ${unsupportedCount} not supported, ` +
    `${positionCount} refused with another reason or position`,
);
process.exit(differenceCount === 0 ? 0 : 1);
