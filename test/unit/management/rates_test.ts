// Rates of what is looked at, and forgetting of what is not.

import { assertEquals } from "@std/assert";
import { RateBook, withRates } from "../../../src/management/rates.ts";

Deno.test("of() gives the difference of the last two samples per second", () => {
  let nowMs = 0;
  let count = 100;
  const book = new RateBook(() => nowMs);
  const subject = {};
  const rates = () => book.of(subject, () => ({ count }));
  assertEquals(rates(), {});
  nowMs = 2000;
  count = 150;
  book.sample();
  assertEquals(rates(), { count: 25 });
  book.sample();
  assertEquals(rates(), { count: 25 }, "no time has passed");
});

Deno.test("sample() forgets what nobody has asked for in a minute", () => {
  let nowMs = 0;
  const book = new RateBook(() => nowMs);
  const [watched, abandoned] = [{}, {}];
  book.of(watched, () => ({}));
  book.of(abandoned, () => ({}));
  nowMs = 50_000;
  book.of(watched, () => ({}));
  nowMs = 60_001;
  book.sample();
  assertEquals(book.size, 1);
});

Deno.test("withRates() pairs every counter with its rate", () => {
  assertEquals(withRates({ ack: 3, get: 1 }, { ack: 0.5 }), {
    ack: 3,
    ack_details: { rate: 0.5 },
    get: 1,
    get_details: { rate: 0 },
  });
});
