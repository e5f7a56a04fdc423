// Asks Erlang's `re`, which RabbitMQ uses for permissions and policies, what a pattern matches.
// patterns.ts uses it. It needs `erl` and `erlc`.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("./patterns.erl", import.meta.url));
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

/** A pattern and the texts that it is tried on. */
export interface Question {
  readonly pattern: string;
  readonly texts: readonly string[];
}

/** What Erlang says: one digit for each text (1 match, 0 none, 2 gave up), or why it refuses. */
export type Answer =
  | { readonly matches: string }
  | { readonly reason: string; readonly position: number };

/** Whether Erlang is installed. */
export function hasErlang(): boolean {
  return spawnSync("erlc", ["-help"]).error === undefined;
}

/** Asks all the questions at once; `folder` takes the compiled module. */
export function askErlang(folder: string, questions: readonly Question[]): Answer[] {
  const compiled = spawnSync("erlc", ["-o", folder, SOURCE], { encoding: "utf8" });
  if (compiled.status !== 0) throw new Error(`erlc: ${compiled.stdout}${compiled.stderr}`);
  const options = ["-noshell", "-pa", folder, "-s", "patterns", "start"];
  const input = questions
    .map(({ pattern, texts }) => `${[pattern, ...texts].map(hexadecimal).join(" ")}\n`)
    .join("");
  const asked = spawnSync("erl", options, {
    input,
    encoding: "utf8",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const lines = asked.stdout.split("\n").slice(0, -1);
  if (lines.length === questions.length) return lines.map(readAnswer);
  throw new Error(`${lines.length} answers to ${questions.length} questions: ${asked.stderr}`);
}

const PERL = "use utf8; my ($p, $t) = map { utf8::decode($_); $_ } @ARGV; print $t =~ /$p/ ? 1 : 0";

/** What Perl says, whose language PCRE takes over: "1" or "0", or nothing when it refuses. */
export function askPerl(pattern: string, text: string): string {
  return spawnSync("perl", ["-e", PERL, pattern, text], { encoding: "utf8" }).stdout ?? "";
}

function hexadecimal(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16));
  return `x${bytes.map((byte) => byte.padStart(2, "0")).join("")}`;
}

function readAnswer(line: string): Answer {
  const [kind, ...rest] = line.split(" ");
  if (kind === "ok") return { matches: rest[0] ?? "" };
  return { position: Number(rest[0]), reason: rest.slice(1).join(" ") };
}
