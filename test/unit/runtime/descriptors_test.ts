// Who may have one more descriptor: the reserve, what is said, and that it ends.

import { assertEquals, assertFalse } from "@std/assert";
import { Descriptors, processDescriptors } from "../../../src/runtime/descriptors.ts";

class Machine {
  readonly countMax: number;
  /** Open descriptors that are no streams. */
  otherCount = 20;
  streamCount = 0;
  atMs = 0;
  lookCount = 0;
  readonly lines: string[] = [];
  readonly descriptors: Descriptors;

  constructor(countMax: number) {
    this.countMax = countMax;
    this.descriptors = new Descriptors(this, {
      log: (_level, message) => this.lines.push(message),
    });
  }

  nowMs(): number {
    return this.atMs;
  }

  openCount(): number {
    this.lookCount++;
    return this.otherCount + this.streamCount;
  }

  take(kind: "amqp" | "http" = "amqp"): boolean {
    const isTaken = this.descriptors.take(kind);
    if (isTaken) this.streamCount++;
    return isTaken;
  }

  /** Takes as many as there are; returns how many that was. */
  takeAll(kind: "amqp" | "http" = "amqp"): number {
    let count = 0;
    while (this.take(kind)) count++;
    return count;
  }

  give(count: number): void {
    for (let i = 0; i < count; i++) this.descriptors.give();
    this.streamCount -= count;
  }
}

const SHORT = "file descriptors are short: new connections are refused";
const OVER = "file descriptors are no longer short: new connections are accepted";

Deno.test("Descriptors.take() leaves a reserve, and HTTP half of it", () => {
  const machine = new Machine(160);
  assertEquals(machine.takeAll(), 160 - 20 - 20);
  assertEquals(machine.descriptors.isShort, true);
  assertEquals(machine.takeAll("http"), 10);
  assertEquals(machine.lines, [SHORT]);
});

Deno.test("Descriptors lets streams in again when enough are free, and says both once", () => {
  const machine = new Machine(160);
  const count = machine.takeAll();
  for (let i = 0; i < 100; i++) assertFalse(machine.take());
  machine.give(5);
  assertFalse(machine.take());
  assertEquals(machine.lines, [SHORT]);
  machine.give(1);
  assertEquals(machine.lines, [SHORT, OVER]);
  assertFalse(machine.descriptors.isShort);
  machine.give(count - 6);
  assertEquals(machine.takeAll(), count);
  assertEquals(machine.lines, [SHORT, OVER, SHORT]);
});

Deno.test("Descriptors counts files that are opened meanwhile, and looks now and then only", () => {
  const machine = new Machine(160);
  assertEquals(machine.take(), true);
  machine.otherCount = 150;
  assertEquals(machine.take(), true);
  assertEquals(machine.lookCount, 1);
  machine.atMs = 1000;
  assertFalse(machine.take());
  assertEquals(machine.descriptors.isShort, true);
  machine.otherCount = 20;
  machine.atMs = 2000;
  assertFalse(machine.descriptors.isShort);
  assertEquals(machine.lines, [SHORT, OVER]);
});

Deno.test("Descriptors refuses nobody where the numbers are not known", () => {
  const machine = new Machine(Infinity);
  for (let i = 0; i < 1000; i++) assertEquals(machine.take(), true);
  machine.give(1000);
  assertEquals([machine.lookCount, machine.lines.length], [0, 0]);
});

Deno.test("Descriptors refuses when even looking takes more than there are", () => {
  const machine = new Machine(160);
  machine.otherCount = Infinity;
  assertFalse(machine.take());
  machine.otherCount = 20;
  machine.atMs = 1000;
  assertEquals(machine.take(), true);
});

Deno.test("processDescriptors() tells what this process has open, where the system shows it", () => {
  const { countMax, openCount } = processDescriptors();
  if (countMax === Infinity) return;
  assertEquals(openCount() > 2 && openCount() < countMax, true);
});
