// Long lists, which are made while the client reads: who does not read loses the connection, not only
// the seat.

import { assertEquals } from "@std/assert";
import { IDLE_MS_MAX, SEATS_MAX } from "../../../src/management/list_desk.ts";
import { TestManagement } from "../../support/management.ts";

/** Enough queues for a list of several pieces. */
function crowded(): TestManagement {
  const management = new TestManagement();
  for (let i = 0; i < 300; i++) management.test.queue(`q${i}`);
  return management;
}

function listed(management: TestManagement): Promise<Response> {
  const headers = { authorization: `Basic ${btoa("guest:guest")}` };
  const request = new Request("http://x/api/queues", { headers });
  const dropPeer = () => management.droppedCount++;
  return Promise.resolve(management.app.fetch(request, { peerHost: "127.0.0.1", dropPeer }));
}

Deno.test("answerList() breaks the connection off of who does not read, once somebody waits", async () => {
  const management = crowded();
  const unread: Response[] = [];
  for (let i = 0; i < SEATS_MAX; i++) unread.push(await listed(management));
  const waiting = listed(management);
  management.monotonicMs += IDLE_MS_MAX;
  const answer = await waiting;
  assertEquals(management.droppedCount > 0, true);
  assertEquals((await answer.json()).length, 300);
  assertEquals(management.logs, []);
  // A cancelled body gives its seat up; the adapter cancels when the connection has ended.
  for (const { body } of unread) await body!.cancel();
  assertEquals((await (await listed(management)).json()).length, 300);
});

Deno.test("answerList() logs an exception in the middle of a list and breaks the connection off", async () => {
  const management = crowded();
  const answer = await listed(management);
  const reader = answer.body!.getReader();
  await reader.read();
  for (const queue of management.test.vhost.queues.values()) {
    Object.defineProperty(queue, "readyCount", {
      get() {
        throw new TypeError("a bug");
      },
    });
  }
  const rest = reader.read();
  for (let i = 0; i < 10_000 && management.droppedCount === 0; i++) await Promise.resolve();
  assertEquals(management.droppedCount, 1);
  assertEquals(management.logs.map(({ message }) => message), ["HTTP request failed"]);
  await reader.cancel();
  assertEquals((await rest).done, true);
});
