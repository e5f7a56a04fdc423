// FailedBatches: however long the disk refuses everything, none of what it has refused is taken for safe.

import { assertEquals } from "@std/assert";
import { FailedBatches } from "../../../../src/store/log/failed_batches.ts";

Deno.test("FailedBatches.has() knows all of a long row of failures with idle turns between them", () => {
  const failed = new FailedBatches();
  const numbers = Array.from({ length: 1000 }, (_, index) => 10 + index * 3);
  for (const number of numbers) failed.add(number, number - 3);
  assertEquals(numbers.filter((number) => !failed.has(number)), []);
  assertEquals([failed.has(9), failed.has(3008)], [false, false]);
});

Deno.test("FailedBatches.has() does not count safe batches between two failures as failed", () => {
  const failed = new FailedBatches();
  failed.add(4, 3);
  failed.add(8, 6);
  assertEquals([4, 5, 6, 7, 8].map((number) => failed.has(number)), [
    true,
    false,
    false,
    false,
    true,
  ]);
});

Deno.test("FailedBatches.has() knows batches that fail after later ones", () => {
  const failed = new FailedBatches();
  failed.add(7, 5);
  failed.add(3, 2);
  failed.add(5, 3);
  assertEquals([3, 5, 7].map((number) => failed.has(number)), [true, true, true]);
  assertEquals([2, 8].map((number) => failed.has(number)), [false, false]);
});

Deno.test("FailedBatches keeps the last 64 ranges", () => {
  const failed = new FailedBatches();
  for (let number = 10; number <= 640; number += 10) failed.add(number, number - 5);
  assertEquals([failed.has(10), failed.has(640)], [true, true]);
  failed.add(650, 645);
  assertEquals([10, 20, 650].map((number) => failed.has(number)), [false, true, true]);
  failed.add(652, 650);
  assertEquals([20, 651, 652, 653].map((number) => failed.has(number)), [true, true, true, false]);
});
