// Rates of what is looked at, and forgetting of what is not.

import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import { RateBook, withRates } from "../../../src/management/rates.ts";
import { Pace, Slices } from "../../../src/management/slices.ts";

const pace = () => new Pace(new Slices(() => Promise.resolve()));

Deno.test("of() gives the difference of the last two samples per second", async () => {
  let nowMs = 0;
  let count = 100;
  const book = new RateBook(() => nowMs);
  const subject = {};
  const rates = () => book.of(subject, () => ({ count }));
  assertEquals(rates(), {});
  nowMs = 2000;
  count = 150;
  await book.sample(pace());
  assertEquals(rates(), { count: 25 });
  await book.sample(pace());
  assertEquals(rates(), { count: 25 }, "no time has passed");
});

Deno.test("sample() forgets what nobody has asked for in a minute", async () => {
  let nowMs = 0;
  const book = new RateBook(() => nowMs);
  const [watched, abandoned] = [{}, {}];
  book.of(watched, () => ({}));
  book.of(abandoned, () => ({}));
  nowMs = 50_000;
  book.of(watched, () => ({}));
  nowMs = 60_001;
  await book.sample(pace());
  assertEquals(book.size, 1);
});

Deno.test("sample() reads many things in slices, and one sample at a time", async () => {
  let nowMs = 0;
  let pauseCount = 0;
  let readCount = 0;
  const slices = new Slices(() => {
    pauseCount++;
    return Promise.resolve();
  });
  const book = new RateBook(() => nowMs);
  for (let i = 0; i < 10_000; i++) {
    book.of({}, () => {
      readCount++;
      return { n: 1 };
    });
  }
  nowMs = 1000;
  readCount = 0;
  await Promise.all([book.sample(new Pace(slices)), book.sample(new Pace(slices))]);
  assertEquals(readCount, 10_000);
  assertGreaterOrEqual(pauseCount, 10);
});

Deno.test("withRates() pairs every counter with its rate", () => {
  assertEquals(withRates({ ack: 3, get: 1 }, { ack: 0.5 }), {
    ack: 3,
    ack_details: { rate: 0.5 },
    get: 1,
    get_details: { rate: 0 },
  });
});
