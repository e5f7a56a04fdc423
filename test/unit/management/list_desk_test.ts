// Seats for lists: few at a time, the others wait in their order, and who does not read loses the seat.

import { assertEquals, assertThrows } from "@std/assert";
import {
  IDLE_MS_MAX,
  ListDesk,
  SEATS_MAX,
  WAITING_MAX,
} from "../../../src/management/list_desk.ts";
import { Problem } from "../../../src/management/problems.ts";

function makeDesk() {
  const clock = { nowMs: 0 };
  const pauses: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => pauses.push(resolve));
  const desk = new ListDesk({ pause, nowMs: () => clock.nowMs });
  const pass = async (ms: number) => {
    clock.nowMs += ms;
    pauses.splice(0).forEach((resume) => resume());
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { desk, pass };
}

async function seats(desk: ListDesk) {
  return await Promise.all(Array.from({ length: SEATS_MAX }, () => desk.enter()));
}

Deno.test("enter() gives seats in the order of asking, as others leave", async () => {
  const { desk } = makeDesk();
  const taken = await seats(desk);
  const order: number[] = [];
  const waiting = [1, 2, 3].map((n) => desk.enter().then(() => order.push(n)));
  assertEquals(desk.takenCount, SEATS_MAX);
  for (const seat of taken.slice(0, 3)) {
    seat.leave();
    seat.leave();
  }
  await Promise.all(waiting);
  assertEquals([order, desk.takenCount], [[1, 2, 3], SEATS_MAX]);
});

Deno.test("enter() sends away when too many wait", async () => {
  const { desk } = makeDesk();
  await seats(desk);
  for (let i = 0; i < WAITING_MAX; i++) void desk.enter();
  const problem = assertThrows(() => desk.enter(), Problem);
  assertEquals([problem.status, problem.error], [503, "too_busy"]);
});

Deno.test("enter() takes the seat of a client that does not read, once somebody waits", async () => {
  const { desk, pass } = makeDesk();
  const taken = await seats(desk);
  let lostCount = 0;
  for (const seat of taken) seat.onLost = () => lostCount++;
  await pass(IDLE_MS_MAX * 2);
  assertEquals(lostCount, 0, "nobody waits");
  for (const seat of taken.slice(1)) seat.touch();
  const next = desk.enter();
  await pass(1);
  await next;
  assertEquals([lostCount, desk.takenCount], [1, SEATS_MAX]);
  taken[0]!.leave();
  assertEquals(desk.takenCount, SEATS_MAX, "it has none any more");
});
