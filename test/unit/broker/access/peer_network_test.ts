// Addresses under which peers are counted.

import { assertEquals } from "@std/assert";
import { networkOf } from "../../../../src/broker/access/peer_network.ts";

Deno.test("networkOf() takes IPv4 addresses as they are and IPv6 addresses by their /64", () => {
  const cases = {
    "192.0.2.1": "192.0.2.1",
    "::ffff:192.0.2.1": "192.0.2.1",
    "::1": "0:0:0:0::/64",
    "2001:db8::1": "2001:db8:0:0::/64",
    "2001:DB8:0:0:1:2:3:4": "2001:db8:0:0::/64",
    "2001:db8:00a1::": "2001:db8:a1:0::/64",
    "fe80::1%eth0": "fe80:0:0:0::/64",
    "": "",
  };
  for (const [host, network] of Object.entries(cases)) assertEquals(networkOf(host), network);
});
