// When pages of delayed messages are read, and how long others wait for them.

import { assertEquals } from "@std/assert";
import { RetryPages } from "../../../src/broker/retry_pages.ts";
import { Timers } from "../../../src/broker/timers.ts";
import { Scheduler } from "../../../src/schedule/scheduler.ts";
import { type DelayedPages, Page, PAGE_GONE } from "../../../src/store/page.ts";

/** Pages that are read when the test says so. */
class Scene {
  readonly scheduler = new Scheduler();
  readonly timers = new Timers(this.scheduler);
  readonly reading: Page[] = [];
  changes = 0;
  nowMs = 0;
  readonly pages = new RetryPages({
    pages: {
      leadMs: 10,
      load: (page: Page) => this.reading.push(page),
      drop: (page: Page) => page.state = PAGE_GONE,
    } as unknown as DelayedPages,
    makeTimer: (callback) => this.timers.make(callback),
    nowMs: () => this.nowMs,
    onChange: () => this.changes++,
  });

  add(wakeMinMs: number, wakeMaxMs = wakeMinMs + 5): Page {
    const delays = { wakeMinMs, wakeMaxMs, lastNumber: 1 };
    const place = { file: 1, offset: 0, byteLength: 1, indexEnd: 1, first: 1, last: 1 };
    const about = { count: 3, bodyBytes: 3 };
    const page = new Page(
      { queueId: 1, pushPage() {}, pagedIn() {} },
      { ...place, ...about, expiryMinMs: Infinity, delays },
      { ...about, hasTransient: true },
    );
    this.pages.add(page);
    return page;
  }

  goTo(ms: number): void {
    this.nowMs = ms;
    this.scheduler.runDue(ms, 100);
  }

  get wakes(): number[] {
    return this.reading.map(({ place }) => place.delays!.wakeMinMs);
  }

  finish(error: Error | null = null): void {
    const { waiter } = this.reading.shift()!;
    if (error === null) waiter!.readArrived();
    else waiter!.readFailed(error);
  }
}

Deno.test("RetryPages reads each page a while before its first message wakes", () => {
  const scene = new Scene();
  for (const wakeMs of [100, 60, 80]) scene.add(wakeMs);
  assertEquals([scene.pages.firstMs, scene.pages.lastMs], [60, 105]);
  assertEquals([scene.pages.count, scene.pages.messageCount], [3, 9]);
  scene.goTo(49);
  assertEquals([scene.wakes, scene.pages.expectedMs], [[], Infinity]);
  scene.goTo(50);
  assertEquals([scene.wakes, scene.pages.expectedMs], [[60], 60]);
  scene.goTo(75);
  assertEquals([scene.wakes, scene.pages.expectedMs], [[60], 60]);
  scene.finish();
  assertEquals([scene.pages.count, scene.pages.expectedMs, scene.changes], [2, 80, 1]);
  scene.goTo(76);
  assertEquals(scene.wakes, [80]);
  scene.finish();
  assertEquals([scene.pages.expectedMs, scene.pages.firstMs], [Infinity, 100]);
});

Deno.test("RetryPages reads one page after the other, and what is due waits for the next one", () => {
  const scene = new Scene();
  scene.goTo(1000);
  for (let wakeMs = 100; wakeMs < 400; wakeMs += 100) scene.add(wakeMs);
  for (const wakeMs of [100, 200, 300]) {
    assertEquals(scene.pages.expectedMs, wakeMs);
    scene.goTo(scene.nowMs + 1);
    assertEquals(scene.wakes, [wakeMs]);
    scene.finish();
  }
  assertEquals([scene.pages.count, scene.pages.expectedMs], [0, Infinity]);
});

Deno.test("RetryPages tries what cannot be read again a minute later, and nobody waits for it", () => {
  const scene = new Scene();
  scene.add(100);
  scene.add(300);
  scene.goTo(95);
  scene.finish(new Error("EIO"));
  assertEquals([scene.pages.expectedMs, scene.pages.count, scene.changes], [Infinity, 2, 1]);
  scene.goTo(400);
  assertEquals(scene.wakes, [300]);
  scene.finish();
  scene.goTo(60_094);
  assertEquals(scene.wakes, []);
  scene.goTo(60_095);
  assertEquals(scene.wakes, [100]);
  scene.finish();
  assertEquals([scene.pages.count, scene.scheduler.pendingCount], [0, 0]);
});

Deno.test("RetryPages gives up pages that are stored and those that are read", () => {
  const scene = new Scene();
  const pages = [scene.add(100), scene.add(300)];
  scene.goTo(95);
  scene.pages.clear();
  assertEquals(pages.map(({ state }) => state), [PAGE_GONE, PAGE_GONE]);
  scene.finish();
  assertEquals([scene.pages.count, scene.changes, scene.scheduler.pendingCount], [0, 0, 0]);
});
