// Patterns against JavaScript's own regular expressions, and patterns made to take forever.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { LinearPattern, PatternError } from "../../../../src/lib/pattern/linear_pattern.ts";
import { Prng } from "../../../../src/lib/prng.ts";
import { RandomPatterns } from "../../../support/random_patterns.ts";

// Separated by spaces; the empty pattern comes first.
const PATTERNS = String
  .raw` a abc a|b a| |a ^a a$ ^$ ^a$ . a.c a* a+ a? ab*c (ab)*c (a|b)+c a{2} a{2,}
a{1,2}b a{0}b (a*)*b (a|a)*b [abc] [^abc] [a-c]b [^a-c] [a\-c] [a-] [\d_]+ \d \D \w+ \W \s \S \bab ab\b
\Bb \. \\ a\|b (?:ab)+ ^(a|bc)*$ a*?b a+? [[] \x61 (^a|b$) a{,2} { x{a} a.*b.*c [^\d]b [\s\S] (|a)b
((a)(b))?c`.split(/\s/).concat("é");

const TEXTS = [
  ..."|a|b|ab|abc|aab|aaa|bca|a.c|a\nc|c b|ab cd|a-b|1a|_|é|A|{|a{,2}|x{a}|\\|[|aabbcc|aa|acb"
    .split("|"),
  "a|b",
];

type Case = readonly [source: string, text: string, isMatch: boolean];

function assertTests(cases: readonly Case[]): void {
  for (const [source, text, isMatch] of cases) {
    assertEquals(new LinearPattern(source).test(text), isMatch, `/${source}/ on ${text}`);
  }
}

Deno.test("test() agrees with RegExp on every construct", () => {
  for (const pattern of PATTERNS) {
    const compiled = new LinearPattern(pattern);
    const expected = new RegExp(pattern);
    for (const text of TEXTS) {
      assertEquals(
        compiled.test(text),
        expected.test(text),
        `/${pattern}/ on ${JSON.stringify(text)}`,
      );
    }
  }
});

Deno.test("test() agrees with RegExp on random patterns", () => {
  const random = new Prng(7);
  const patterns = new RandomPatterns(random, "common");
  for (let round = 0; round < 3000; round++) {
    const source = patterns.pattern(random.nextBelow(5));
    const compiled = new LinearPattern(source);
    const expected = new RegExp(source);
    for (let i = 0; i < 12; i++) {
      const text = patterns.text();
      assertEquals(compiled.test(text), expected.test(text), `/${source}/ on "${text}"`);
    }
  }
});

Deno.test("test() takes no more steps than the pattern says beforehand, whatever the pattern", () => {
  const random = new Prng(8);
  const patterns = new RandomPatterns(random, "pcre");
  for (let round = 0; round < 1000; round++) {
    const source = patterns.pattern(4);
    const compiled = new LinearPattern(source);
    for (const text of [patterns.text(40), "a".repeat(100)]) {
      compiled.test(text);
      const most = compiled.stepsPerCharacterMax * (text.length + 1);
      assert(compiled.lastSteps <= most, `/${source}/ on "${text}": ${compiled.lastSteps}`);
    }
  }
});

Deno.test("LinearPattern refuses heaps of characters with a PatternError or takes them", () => {
  const patterns = new RandomPatterns(new Prng(9), "pcre");
  let takenCount = 0;
  for (let round = 0; round < 5000; round++) {
    const source = patterns.heap();
    try {
      const pattern = new LinearPattern(source);
      pattern.test("ab1");
      takenCount++;
      assert(pattern.stepsPerCharacterMax <= 20_000, source);
    } catch (error) {
      assert(error instanceof PatternError, `${source}: ${error}`);
      assert(
        error.position >= 0 && error.position <= source.length,
        `${source}: ${error.position}`,
      );
    }
  }
  assert(takenCount > 1000 && takenCount < 4000, `${takenCount} patterns were taken`);
});

Deno.test("test() ignores case when asked", () => {
  const options = { ignoreCase: true };
  assertEquals(new LinearPattern("orders", options).test("My-ORDERS"), true);
  assertEquals(new LinearPattern("^[A-C]+$", options).test("abc"), true);
  assertEquals(new LinearPattern("[^a]", options).test("A"), false);
  assertEquals(new LinearPattern("orders").test("ORDERS"), false);
});

Deno.test("test() needs no more than linear time for patterns that make others take forever", () => {
  const text = "a".repeat(255);
  for (const source of ["(a+)+b", "(a|a)*b", "(a|aa)+$b", ".*.*.*.*.*.*.*.*b", "(.*a){20}b"]) {
    assertEquals(new LinearPattern(source).test(text), false, source);
  }
});

Deno.test("LinearPattern refuses in PCRE's words, with PCRE's place", () => {
  const refusals: readonly (readonly [pattern: string, message: string, position: number])[] = [
    ["(", "missing )", 1],
    ["a)", "unmatched parentheses", 1],
    ["[a", "missing terminating ] for character class", 2],
    ["a**", "nothing to repeat", 2],
    ["a{2}{3}", "nothing to repeat", 6],
    ["a+?+", "nothing to repeat", 3],
    ["^*", "nothing to repeat", 1],
    ["a{2,1}", "numbers out of order in {} quantifier", 5],
    ["a{70000}", "number too big in {} quantifier", 7],
    ["\\", "\\ at end of pattern", 1],
    ["(?<=a*)b", "lookbehind assertion is not fixed length", 6],
    ["(?<=a(b|cd))d", "lookbehind assertion is not fixed length", 11],
    ["[b-a]", "range out of order in character class", 3],
    ["[a-\\d]", "invalid range in character class", 4],
    ["[[:foo:]]", "unknown POSIX class name", 3],
    ["[[.a.]]", "POSIX collating elements are not supported", 1],
    ["[:alpha:]", "POSIX named classes are supported only within a class", 0],
    ["\\p{Foo}", "unknown property name after \\P or \\p", 6],
    ["(?z)", "unrecognized character after (? or (?-", 2],
    ["(?<n>a)(?<n>b)", "two named subpatterns have the same name", 11],
    ["\\x{110000}", "character value in \\x{} or \\o{} is too large", 9],
    ["\\u0061", "PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u", 1],
  ];
  for (const [source, message, position] of refusals) {
    const error = assertThrows(() => new LinearPattern(source), PatternError, undefined, source);
    assertEquals([error.message, error.position], [message, position], source);
  }
});

Deno.test("LinearPattern refuses by name what cannot be matched in bounded steps", () => {
  const refused = [
    ["(a)\\1", "backreferences are not supported: \\1"],
    ["(?<n>a)\\k<n>", "backreferences are not supported: \\k"],
    ["(?<n>a)(?P=n)", "backreferences are not supported: (?P="],
    ["(a)\\g{1}", "backreferences are not supported: \\g"],
    ["(a(?1)?)", "calls of other groups are not supported: (?1"],
    ["a(?R)?", "calls of other groups are not supported: (?R"],
    ["(a)(?(1)b|c)", "conditional groups are not supported: (?("],
    ["a(*FAIL)", "verbs are not supported: (*"],
    ["\\X", "\\X is not supported"],
  ] as const;
  for (const [source, message] of refused) {
    const error = assertThrows(() => new LinearPattern(source), PatternError, undefined, source);
    assertEquals(error.message, message, source);
  }
});

Deno.test("LinearPattern refuses what is too large, in length, depth or repetitions", () => {
  const large = [
    "((a{100}){100}){100}",
    "(a{1,500}){1,500}",
    "(".repeat(251) + ")".repeat(251),
    "a".repeat(8193),
    "((){60000}){60000}a{10000}",
    "[\\p{L}\\p{N}\\p{Lu}]{1000}",
  ];
  for (const source of large) {
    assertThrows(() => new LinearPattern(source), PatternError, undefined, source.slice(0, 40));
  }
  new LinearPattern("a".repeat(8192));
  new LinearPattern("(".repeat(250) + ")".repeat(250));
  new LinearPattern("(".repeat(100) + "a" + "*)".repeat(100));
});

Deno.test("test() keeps to the first way of an atomic group and of a possessive quantifier", () => {
  assertTests([
    ["^a++a", "aaa", false],
    ["^(?>a*)b", "aab", true],
    ["^(?>a|ab)c", "abc", false],
    ["^(?>ab|a)c", "abc", true],
    ["^(?>a+?)a$", "aa", true],
    ["^(?U)(?>a+)a$", "aa", true],
    ["^(?>(|a)*)$", "a", false],
    ["^.*\\R$", "a\r\n", true],
    ["^\\R\\n", "\r\n", false],
    ["^(?:(?>a?)b?)*$", "abba", true],
    ["^(?:(?>a*)b?){2}c", "aac", true],
  ]);
});

Deno.test("test() keeps right answers of looks whose loops can take nothing", () => {
  const cases: readonly Case[] = [
    ["^(?:(?=(?:(?:(?:x?|b?)*|ax?)*|(?:(?:ca)*)*)+d).|x|c)*d", "bacad", true],
    ["^(?:(?=(?:(?:|a){2,}(?:ca)*)*d)a|x|c)*d", "cadcd", true],
    ["^(?:(?=(?:(?:c*|x?){2,}|cax?(?:c|ca)+)+d).|x|b)*$", "ccxxd", true],
    ["^(?:(?=(?:(?:ca|a)*(?:a|ca)+|(?:caca|a*)*)+d).|x|c)*$", "ad", true],
  ];
  for (const [source, text, isMatch] of cases) {
    assertEquals(new RegExp(source).test(text), isMatch, source);
  }
  assertTests(cases);
});

Deno.test("test() takes options within a pattern", () => {
  assertTests([
    ["(?i)a(?-i)B", "AB", true],
    ["(?i)a(?-i)B", "Ab", false],
    ["^(a(?i)b|c)$", "C", true],
    ["(?m)^b$", "a\nb\nc", true],
    ["(?m)a\n^", "a\n", false],
    ["^b$", "a\nb\nc", false],
    ["^a$", "a\n", true],
    ["^a\\z", "a\n", false],
    ["(?s)a.b", "a\nb", true],
    ["a.b", "a\nb", false],
    ["(?x) a b # c", "ab", true],
    ["(?i)ß", "s", false],
    ["(?i)[[:lower:]]", "A", true],
    ["(?i)\\p{Lu}", "a", false],
  ]);
});

Deno.test("test() never takes more steps for a character than the pattern says beforehand", () => {
  const sources = ["(.?){100}(a|b|c){20}z$", "[a-cx-z]{30}", "^a\\b.*(x|yy|\\w+)*$", "", "(a*)*b"];
  const texts = ["", "a".repeat(200), "abcxyz ".repeat(20), "ÄÖ zzz"];
  for (const source of sources) {
    for (const ignoreCase of [false, true]) {
      const pattern = new LinearPattern(source, { ignoreCase });
      for (const text of texts) {
        pattern.test(text);
        const most = (text.length + 1) * pattern.stepsPerCharacterMax;
        assert(pattern.lastSteps > 0 && pattern.lastSteps <= most, `${source} on ${text}`);
      }
    }
  }
});
