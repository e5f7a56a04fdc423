// The order of a connection's input, whatever it is stopped by.

import { assertEquals } from "@std/assert";
import { Input } from "../../../src/session/input.ts";
import type { Transport } from "../../../src/session/transport.ts";

const TRANSPORT: Transport = {
  pendingBytes: 0,
  write: (buffer) => buffer,
  pause() {},
  resume() {},
  end() {},
  destroy() {},
};

/** A heartbeat frame that carries one byte of its own, so that frames can be told apart. */
function frame(mark: number): number[] {
  return [8, 0, 0, 0, 0, 0, 1, mark, 0xce];
}

/** Runs at most `max` frames and returns their marks. */
function run(input: Input, max: number): number[] {
  const marks: number[] = [];
  const { parser } = input;
  do {
    while (parser.next()) {
      marks.push(parser.buffer[parser.payloadStart]!);
      if (marks.length === max) return marks;
    }
  } while (input.advance());
  return marks;
}

Deno.test("push() keeps the order when a run stopped at the end of a chunk", () => {
  const input = new Input(TRANSPORT, 1000);
  input.push(new Uint8Array(frame(1)));
  input.push(new Uint8Array(frame(2)));
  assertEquals(run(input, 1), [1]);
  assertEquals(input.isRunnable, true);
  input.push(new Uint8Array(frame(3)));
  assertEquals(run(input, 10), [2, 3]);
});

Deno.test("push() keeps the order for every split into three chunks and every stop", () => {
  const bytes = [1, 2, 3, 4].flatMap(frame);
  for (let first = 1; first < bytes.length; first++) {
    for (let second = first + 1; second < bytes.length; second++) {
      for (let max = 1; max <= 4; max++) {
        const input = new Input(TRANSPORT, 1000);
        input.push(new Uint8Array(bytes.slice(0, first)));
        input.push(new Uint8Array(bytes.slice(first, second)));
        const marks = run(input, max);
        input.push(new Uint8Array(bytes.slice(second)));
        assertEquals([...marks, ...run(input, 10)], [1, 2, 3, 4], `${first} ${second} ${max}`);
      }
    }
  }
});
