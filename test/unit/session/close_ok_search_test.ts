// Finding the one frame that still matters in a stream out of step.

import { assertEquals } from "@std/assert";
import * as M from "../../../src/amqp/methods_gen.ts";
import { CloseOkSearch } from "../../../src/session/close_ok_search.ts";
import { joined, methodFrame } from "../../support/amqp_client.ts";

const CLOSE_OK = methodFrame(M.CONNECTION_CLOSE_OK, 0);

Deno.test("CloseOkSearch finds the frame behind garbage, however it is split", () => {
  const garbage = Uint8Array.of(1, 0, 0, 0xce, 1, 0, 0, 0, 0, 0, 4, 0, 10);
  const bytes = joined([garbage, CLOSE_OK]);
  for (let at = 0; at <= bytes.length; at++) {
    const search = new CloseOkSearch();
    const first = search.offer(bytes.subarray(0, at));
    assertEquals(first, at === bytes.length);
    assertEquals(search.offer(bytes.subarray(at)), true);
  }
});

Deno.test("CloseOkSearch does not take a similar frame for it", () => {
  const search = new CloseOkSearch();
  for (let at = 0; at < CLOSE_OK.length; at++) {
    const other = CLOSE_OK.slice();
    other[at]! ^= 1;
    assertEquals(search.offer(other), false);
  }
});
