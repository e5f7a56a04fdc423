// Patterns against JavaScript's own regular expressions, and patterns made to take forever.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { LinearPattern, PatternError } from "../../../../src/lib/pattern/linear_pattern.ts";
import { Prng } from "../../../../src/lib/prng.ts";

// Separated by spaces; the empty pattern comes first.
const PATTERNS = String
  .raw` a abc a|b a| |a ^a a$ ^$ ^a$ . a.c a* a+ a? ab*c (ab)*c (a|b)+c a{2} a{2,}
a{1,2}b a{0}b (a*)*b (a|a)*b [abc] [^abc] [a-c]b [^a-c] [a\-c] [a-] [\d_]+ \d \D \w+ \W \s \S \bab ab\b
\Bb \. \\ a\|b (?:ab)+ ^(a|bc)*$ a*?b a+? [[] \x61 é (^a|b$) a{,2} { x{a} a.*b.*c [^\d]b [\s\S] (|a)b
((a)(b))?c`.split(/\s/);

const TEXTS = [
  ..."|a|b|ab|abc|aab|aaa|bca|a.c|a\nc|c b|ab cd|a-b|1a|_|é|A|{|a{,2}|x{a}|\\|[|aabbcc|aa|acb"
    .split("|"),
  "a|b",
];

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

Deno.test("test() repeats what is repeated already", () => {
  assertEquals(new LinearPattern("^a{1}{2}$").test("aa"), true);
  assertEquals(new LinearPattern("^a{2}{2}$").test("aa"), false);
});

Deno.test("test() agrees with RegExp on random patterns", () => {
  const random = new Prng(7);
  const piece = (depth: number): string => {
    const choice = random.nextBelow(depth === 0 ? 4 : 8);
    if (choice < 3) return "abc"[choice]!;
    if (choice === 3) return ".";
    if (choice === 4) return `(${piece(depth - 1)}|${piece(depth - 1)})`;
    if (choice === 5) {
      return `(?:${piece(depth - 1)})${["*", "+", "?", "{2}", "{1,3}"][random.nextBelow(5)]}`;
    }
    if (choice === 6) return `[${["ab", "^b", "a-c"][random.nextBelow(3)]}]`;
    return piece(depth - 1) + piece(depth - 1);
  };
  for (let round = 0; round < 500; round++) {
    const source = `${random.nextBelow(3) === 0 ? "^" : ""}${piece(3)}${
      random.nextBelow(3) === 0 ? "$" : ""
    }`;
    const compiled = new LinearPattern(source);
    const expected = new RegExp(source);
    for (let i = 0; i < 20; i++) {
      let text = "";
      for (let n = random.nextBelow(7); n > 0; n--) text += "abcd"[random.nextBelow(4)];
      assertEquals(compiled.test(text), expected.test(text), `/${source}/ on "${text}"`);
    }
  }
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

Deno.test("LinearPattern refuses what is wrong, too large or not regular", () => {
  const wrong = String.raw`( ) a) [ [a *a + ? a{2,1} \ (?=a) (?!a) (?<n>a) (a)\1 [b-a] a{9999} \p`;
  const large = ["((a{100}){100}){100}", "(a{1,500}){1,500}", "(".repeat(60), "a".repeat(2000)];
  for (const source of [...wrong.split(" "), ...large]) {
    assertThrows(() => new LinearPattern(source), PatternError, undefined, source.slice(0, 40));
  }
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
