// When pages of delayed messages are read, and how long others wait for them.

import { assertEquals } from "@std/assert";
import { RetryPages } from "../../../../src/broker/retry/pages.ts";
import { Timers } from "../../../../src/broker/timers.ts";
import { Scheduler } from "../../../../src/schedule/scheduler.ts";
import {
  type DelayedPages,
  Page,
  PAGE_GONE,
  PAGE_STORED,
  type PageVisitor,
  type PeekedMessage,
} from "../../../../src/store/page.ts";

/** Pages that are read when the test says so. */
class Scene {
  readonly scheduler = new Scheduler();
  readonly timers = new Timers(this.scheduler);
  readonly reading: Page[] = [];
  changes = 0;
  nowMs = 0;
  /** Due times in a page that is looked at. */
  peeked: number[] = [];
  readonly pages = new RetryPages({
    pages: {
      leadMs: 10,
      load: (page: Page) => this.reading.push(page),
      peek: (_page: Page, visitor: PageVisitor) => {
        for (const dueMs of this.peeked) visitor.visit({ dueMs } as PeekedMessage);
        visitor.ended();
      },
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

Deno.test("RetryPages.hurry() has a page read next, and what is due still waits for its own", () => {
  const scene = new Scene();
  const [near, far, farther] = [scene.add(100), scene.add(5000), scene.add(900_000)];
  let done = 0;
  for (const page of [far, farther, far]) {
    assertEquals(scene.pages.hurry(page!, () => done++), true);
  }
  scene.goTo(95);
  assertEquals([scene.wakes, scene.pages.expectedMs], [[5000], 100]);
  scene.finish();
  assertEquals([done, scene.pages.expectedMs, scene.pages.hurry(far!, () => done++)], [
    2,
    100,
    false,
  ]);
  scene.goTo(96);
  assertEquals([scene.wakes, scene.pages.expectedMs], [[900_000], 100]);
  scene.finish(new Error("EIO"));
  scene.goTo(97);
  assertEquals([done, scene.wakes], [3, [100]]);
  // The page that could not be read is needed late.
  scene.finish();
  scene.goTo(800_000);
  assertEquals(scene.wakes, []);
  scene.pages.hurry(farther!, () => done++);
  scene.pages.clear();
  assertEquals([done, near!.state, farther!.state], [4, PAGE_STORED, PAGE_GONE]);
});

Deno.test("RetryPages.between() gives pages that may have messages of a time, the likeliest first", () => {
  const scene = new Scene();
  const pages = [scene.add(100), scene.add(300), scene.add(200), scene.add(400)];
  const looked = new Set<Page>();
  const order: number[] = [];
  for (;;) {
    const page = scene.pages.between(203, 310, looked);
    if (page === null) break;
    looked.add(page);
    order.push(page.place.delays!.wakeMinMs);
  }
  // Messages of the first page may be due later than they wake.
  assertEquals(order, [200, 300, 100]);
  scene.peeked = [150, 120];
  scene.pages.peek(pages[0]!, { wantsAddresses: false, visit: () => {}, ended: () => {} });
  assertEquals(scene.pages.between(151, 199, new Set()), null);
  assertEquals(scene.pages.between(150, 199, new Set()), pages[0]);
});
