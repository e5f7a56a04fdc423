// What a transaction holds comes out as it went in, whatever the sizes, and is counted by its bytes.
import { assertEquals } from "@std/assert";
import { emptySource, type MessageSource } from "../../../src/broker/publish/publisher.ts";
import { Prng } from "../../../src/lib/prng.ts";
import { HeldPublishes } from "../../../src/session/held_publishes.ts";

function randomBytes(prng: Prng, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => prng.nextBelow(256));
}

function randomSource(prng: Prng): MessageSource {
  const bodyBytes = prng.nextBelow(20) === 0 ? prng.nextBelow(5000) : prng.nextBelow(30);
  const address = randomBytes(prng, 2 + prng.nextBelow(20));
  const properties = randomBytes(prng, 2 + prng.nextBelow(10));
  const body = randomBytes(prng, bodyBytes);
  return {
    ...emptySource(),
    address,
    addressEnd: address.length,
    properties,
    propertiesEnd: properties.length,
    body,
    bodyEnd: body.length,
  };
}

function textOf(source: MessageSource, mandatory: boolean): string {
  return [
    source.address.subarray(source.addressStart, source.addressEnd),
    source.properties.subarray(source.propertiesStart, source.propertiesEnd),
    source.body.subarray(source.bodyStart, source.bodyEnd),
    mandatory,
  ].join("|");
}

Deno.test("held publishes come out as they went in", () => {
  const prng = new Prng(3);
  const held = new HeldPublishes();
  const expected: string[] = [];
  let byteCount = 0;
  for (let i = 0; i < 3000; i++) {
    const source = randomSource(prng);
    const mandatory = prng.nextBelow(2) === 0;
    expected.push(textOf(source, mandatory));
    byteCount += 16 + source.addressEnd + source.propertiesEnd + source.bodyEnd;
    held.add(source, mandatory);
  }
  assertEquals(held.heldBytes, byteCount);
  const found: string[] = [];
  held.takeAll((source, mandatory) => found.push(textOf(source, mandatory)));
  assertEquals(found, expected);
  assertEquals(held.heldBytes, 0);
});

Deno.test("nothing is left of held publishes that were cleared", () => {
  const held = new HeldPublishes();
  held.add(randomSource(new Prng(1)), false);
  held.clear();
  let count = 0;
  held.takeAll(() => count++);
  assertEquals([count, held.heldBytes], [0, 0]);
});
