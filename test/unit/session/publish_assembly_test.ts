// One publish as its frames arrive: what is pointed at, what is copied, how much is held.

import { assertEquals, assertLessOrEqual, assertStrictEquals, assertThrows } from "@std/assert";
import { ContentHeader } from "../../../src/amqp/content_header.ts";
import { ConnectionError } from "../../../src/amqp/errors.ts";
import {
  ASSEMBLY_BODY,
  ASSEMBLY_HEADER,
  ASSEMBLY_IDLE,
  PublishAssembly,
} from "../../../src/session/publish_assembly.ts";

const INPUT = Uint8Array.from({ length: 64 }, (_, i) => i);

function header(propertiesStart: number, propertiesEnd: number): ContentHeader {
  return Object.assign(new ContentHeader(), { propertiesStart, propertiesEnd });
}

function begun(bodyBytes: number): PublishAssembly {
  const assembly = new PublishAssembly();
  assembly.begin(INPUT, 1, 5);
  assembly.header(INPUT, header(10, 14));
  assembly.expectBody(bodyBytes);
  return assembly;
}

function bytesOf(bytes: Uint8Array, start: number, end: number): number[] {
  return [...bytes.subarray(start, end)];
}

Deno.test("PublishAssembly goes through its states and points into the input", () => {
  const assembly = new PublishAssembly();
  assertEquals(assembly.state, ASSEMBLY_IDLE);
  assembly.begin(INPUT, 1, 5);
  assertEquals(assembly.state, ASSEMBLY_HEADER);
  assembly.header(INPUT, header(10, 14));
  assertEquals(assembly.expectBody(3), false);
  assertEquals(assembly.state, ASSEMBLY_BODY);
  assertEquals(assembly.body(INPUT, 20, 23), true);
  assertEquals(assembly.state, ASSEMBLY_IDLE);
  const { source } = assembly;
  assertStrictEquals(source.address, INPUT);
  assertStrictEquals(source.properties, INPUT);
  assertStrictEquals(source.body, INPUT);
  assertEquals([source.bodyStart, source.bodyEnd, assembly.heldBytes], [20, 23, 0]);
});

Deno.test("PublishAssembly is complete with the header of an empty body", () => {
  const assembly = new PublishAssembly();
  assembly.begin(INPUT, 1, 5);
  assembly.header(INPUT, header(10, 14));
  assertEquals(assembly.expectBody(0), true);
  assertEquals(assembly.state, ASSEMBLY_IDLE);
});

Deno.test("PublishAssembly.detach() copies what points into the input, at most once", () => {
  const assembly = begun(8);
  assembly.detach();
  const { source } = assembly;
  const { address } = source;
  assertEquals(bytesOf(address, source.addressStart, source.addressEnd), [1, 2, 3, 4]);
  const { properties, propertiesStart, propertiesEnd } = source;
  assertEquals(bytesOf(properties, propertiesStart, propertiesEnd), [10, 11, 12, 13]);
  assertEquals(assembly.heldBytes, 8);
  assembly.detach();
  assertStrictEquals(source.address, address);
});

Deno.test("PublishAssembly.detach() between method and header keeps both", () => {
  const assembly = new PublishAssembly();
  assembly.begin(INPUT, 1, 5);
  assembly.detach();
  assembly.header(INPUT, header(10, 14));
  assembly.expectBody(1);
  assembly.detach();
  const { source } = assembly;
  assertEquals(bytesOf(source.address, source.addressStart, source.addressEnd), [1, 2, 3, 4]);
  assertEquals(assembly.heldBytes, 8);
});

Deno.test("PublishAssembly joins body frames and holds at most twice what came", () => {
  const assembly = begun(60_000_000);
  const piece = new Uint8Array(1000).fill(5);
  for (let count = 1; count <= 50; count++) {
    assertEquals(assembly.body(piece, 0, 1000), false);
    assertLessOrEqual(assembly.heldBytes, 2 * count * 1000);
  }
});

Deno.test("PublishAssembly gives out a joined body whole", () => {
  const assembly = begun(6);
  assertEquals(assembly.body(INPUT, 20, 24), false);
  assertEquals(assembly.body(INPUT, 30, 32), true);
  const { source } = assembly;
  assertEquals(bytesOf(source.body, source.bodyStart, source.bodyEnd), [20, 21, 22, 23, 30, 31]);
});

Deno.test("PublishAssembly refuses more body than announced", () => {
  assertThrows(() => begun(3).body(INPUT, 0, 4), ConnectionError, "longer than announced");
  const assembly = begun(5);
  assembly.body(INPUT, 0, 4);
  assertThrows(() => assembly.body(INPUT, 0, 2), ConnectionError, "longer than announced");
});

Deno.test("PublishAssembly.reset() holds nothing and points at nothing", () => {
  const assembly = begun(100);
  assembly.body(INPUT, 0, 10);
  assembly.detach();
  assembly.reset();
  assertEquals([assembly.state, assembly.heldBytes], [ASSEMBLY_IDLE, 0]);
  assertEquals(assembly.source.address.length + assembly.source.body.length, 0);
});
