// What counts as passed, failed and skipped among the embeddings of the core.

import { assertEquals } from "@std/assert";
import { checkHost, type Host, LateError } from "../../../scripts/lib/core_hosts.ts";
import type { Tally } from "../../../scripts/lib/tally.ts";

const good = "vectors: 729 as expected\ntrace: 2851461 result bytes as expected\n";

async function countsOf(changes: Partial<Host>): Promise<number[]> {
  const host: Host = { name: "test", probes: [], replay: () => Promise.resolve(good), ...changes };
  const { log } = console;
  console.log = () => {};
  try {
    const { passed, failed, skipped }: Tally = await checkHost(host);
    return [passed, failed, skipped];
  } finally {
    console.log = log;
  }
}

Deno.test("checkHost() passes a host that says both replays went well, no other", async () => {
  assertEquals(await countsOf({}), [1, 0, 0]);
  const half = "vectors: 729 as expected\n";
  assertEquals(await countsOf({ replay: () => Promise.resolve(half) }), [0, 1, 0]);
  assertEquals(await countsOf({ replay: () => Promise.reject(new Error("broke")) }), [0, 1, 0]);
});

Deno.test("checkHost() skips a host without its toolchain and never runs it", async () => {
  const probes = [["no-such-toolchain-anywhere", "--version"]];
  const replay = () => Promise.reject(new Error("ran"));
  assertEquals(await countsOf({ probes, replay }), [0, 0, 1]);
});

Deno.test("checkHost() skips for lateness only where a host may be late", async () => {
  const replay = () => Promise.reject(new LateError("late"));
  assertEquals(await countsOf({ replay }), [0, 1, 0]);
  assertEquals(await countsOf({ replay, mayBeLate: true }), [0, 0, 1]);
});
