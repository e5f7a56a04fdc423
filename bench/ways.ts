// How long the ways of the data are: how many functions of src/ and core-wasm/ run, in how many files and
// with how many calls, for one publish, one reject into a delay, and one empty turn. It counts a whole
// durable node in memory, from the bytes of the client to the bytes of the answer, once everything is
// warm. The engine counts the calls, so the figures are exact and the same on every run.
//   deno run -A bench/ways.ts

import { Session } from "node:inspector";
import * as M from "../src/amqp/methods_gen.ts";
import { longField } from "../src/amqp/field_value.ts";
import { contentFrames, joined, methodFrame } from "../test/support/amqp_client.ts";
import { DurableNode } from "../test/support/durable_node.ts";
import { open, SinkTransport } from "./broker/in_process.ts";

const WARM_UP = 50;

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** What ran. */
interface Way {
  functions: number;
  files: number;
  calls: number;
}

const session = new Session();
session.connect();

function ask<T>(method: string, parameters: object = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error: Error | null, result: unknown) => {
      if (error === null) resolve(result as T);
      else reject(error);
    });
  });
}

/** Counts what runs in `work`. */
async function wayOf(work: () => void): Promise<Way> {
  await ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await ask("Profiler.takePreciseCoverage");
  work();
  const { result } = await ask<Coverage>("Profiler.takePreciseCoverage");
  await ask("Profiler.stopPreciseCoverage");
  const way: Way = { functions: 0, files: 0, calls: 0 };
  for (const { url, functions } of result) {
    if (!/\/(src|core-wasm)\//.test(url)) continue;
    const counts = functions.filter(({ functionName }) => functionName !== "")
      .map(({ ranges }) => ranges[0]!.count).filter((count) => count > 0);
    if (counts.length > 0) way.files++;
    way.functions += counts.length;
    for (const count of counts) way.calls += count;
  }
  return way;
}

const { node } = new DurableNode();
const client = open(node, new SinkTransport());
const args = new Map([["x-delayed-retry-min", longField(60_000)]]);
client.received(methodFrame(M.QUEUE_DECLARE, 1, { queue: "q", durable: true, arguments: args }));
node.settle();
client.received(methodFrame(M.CONFIRM_SELECT, 1, {}));
client.received(methodFrame(M.BASIC_CONSUME, 1, { queue: "q" }));
node.settle();
const publish = joined([
  methodFrame(M.BASIC_PUBLISH, 1, { exchange: "", routingKey: "q" }),
  contentFrames(1, new Uint8Array(16), { deliveryMode: 2 }, 131_064),
]);

let tag = 0;
const works: readonly (readonly [name: string, work: () => void])[] = [
  ["publish, stored, delivered, confirmed", () => {
    client.received(publish.slice());
    node.settle();
  }],
  ["reject into a delay", () => {
    const reject = { deliveryTag: ++tag, requeue: true };
    client.received(methodFrame(M.BASIC_REJECT, 1, reject));
    node.settle();
  }],
  ["empty turn", () => node.engine.turn(() => {})],
];

await ask("Profiler.enable");
for (const [, work] of works) for (let i = 0; i < WARM_UP; i++) work();
for (const [name, work] of works) {
  const { functions, files, calls } = await wayOf(work);
  console.log(`${name}: ${functions} functions in ${files} files, ${calls} calls`);
}
