// The deep equality behind assertEquals, held to the semantics of the published @std/assert.
import { assert, assertFalse, assertThrows, equal } from "@std/assert";

class Point {
  x: number;
  constructor(x: number) {
    this.x = x;
  }
}

/** Checks both directions: equality has none. */
function same(a: unknown, b: unknown): void {
  assert(equal(a, b), "expected equal");
  assert(equal(b, a), "expected equal the other way round");
}

function differ(a: unknown, b: unknown): void {
  assertFalse(equal(a, b), "expected different");
  assertFalse(equal(b, a), "expected different the other way round");
}

Deno.test("equal() takes 0 and -0 as equal, NaN as equal to itself", () => {
  same(0, -0);
  same([0], [-0]);
  same({ a: 0 }, { a: -0 });
  same(NaN, NaN);
  same(new Float64Array([0, NaN]), new Float64Array([-0, NaN]));
  differ(1, 2);
  differ(1, 1n);
  differ(1, "1");
  differ(null, undefined);
  differ(null, {});
});

Deno.test("equal() takes a null-prototype object as equal to a plain one", () => {
  same(Object.create(null), {});
  same(Object.assign(Object.create(null), { a: 1 }), { a: 1 });
  differ(Object.create(null), new Point(1));
});

Deno.test("equal() takes errors as equal only to themselves", () => {
  const error = new Error("a");
  same(error, error);
  same({ error }, { error });
  differ(new Error("a"), new Error("a"));
});

Deno.test("equal() compares properties, symbols and missing against undefined", () => {
  same({ a: { b: [1, 2] } }, { a: { b: [1, 2] } });
  same({ a: 1, b: 2 }, { b: 2, a: 1 });
  same({ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 1 });
  differ({ [Symbol.for("s")]: 1 }, { [Symbol.for("s")]: 2 });
  differ({ a: undefined }, {});
  differ({ a: undefined }, { b: undefined });
  differ([1, 2, 3], [1, 2]);
  differ([1, 2], { 0: 1, 1: 2, length: 2 });
  same({ constructor: "x" }, { constructor: "x" });
});

Deno.test("equal() compares the class of objects", () => {
  same(new Point(1), new Point(1));
  differ(new Point(1), new Point(2));
  differ(new Point(1), { x: 1 });
});

Deno.test("equal() compares dates, patterns, addresses and boxed values by content", () => {
  same(new Date(5), new Date(5));
  same(new Date(NaN), new Date(NaN));
  differ(new Date(5), new Date(6));
  differ(new Date(5), new Date(NaN));
  same(/a/g, /a/g);
  differ(/a/g, /a/i);
  same(new URL("http://a.test/x"), new URL("http://a.test/x"));
  differ(new URL("http://a.test/x"), new URL("http://a.test/y"));
  same(Object(1), Object(1));
  differ(Object("a"), Object("b"));
});

Deno.test("equal() compares typed arrays, views and buffers by content and type", () => {
  same(new Uint8Array([1, 2]), new Uint8Array([1, 2]));
  same(new Uint8Array([0, 1, 2]).subarray(1), new Uint8Array([1, 2]));
  differ(new Uint8Array([1, 2]), new Uint8Array([2, 1]));
  differ(new Uint8Array([1]), new Uint8Array([1, 0]));
  differ(new Uint8Array([1]), new Uint16Array([1]));
  differ(new Uint8Array([1]), [1]);
  same(new Uint8Array([1]).buffer, new Uint8Array([1]).buffer);
  differ(new Uint8Array([1]).buffer, new Uint8Array([2]).buffer);
  same(new DataView(new ArrayBuffer(2)), new DataView(new ArrayBuffer(2)));
  same(new BigInt64Array([1n]), new BigInt64Array([1n]));
});

Deno.test("equal() compares maps by content in any order", () => {
  same(new Map([["a", 1], ["b", 2]]), new Map([["b", 2], ["a", 1]]));
  same(new Map([[{ x: 1 }, true]]), new Map([[{ x: 1 }, true]]));
  same(new Map([["a", new Map([["b", [1]]])]]), new Map([["a", new Map([["b", [1]]])]]));
  differ(new Map([["a", 1]]), new Map([["a", 2]]));
  differ(new Map([["a", 1]]), new Map([["a", 1], ["b", 2]]));
  differ(new Map([[{ x: 1 }, true]]), new Map([[{ x: 1 }, false]]));
  differ(new Map([[{ x: 1 }, true]]), new Map([[{ x: 2 }, true]]));
  differ(new Map([["a", undefined]]), new Map([["b", undefined]]));
});

Deno.test("equal() compares sets by content, each member matched once", () => {
  same(new Set([1, 2, 3]), new Set([3, 2, 1]));
  same(new Set([1, new Set([2, 3])]), new Set([new Set([3, 2]), 1]));
  differ(new Set([1, 2]), new Set([1, 3]));
  differ(new Set([{ a: 1 }, { a: 1 }]), new Set([{ a: 1 }, { a: 2 }]));
});

Deno.test("equal() ends on cyclic structures", () => {
  const cycle = (value: number): unknown => {
    const node: { value: number; self?: unknown; map: Map<string, unknown> } = {
      value,
      map: new Map(),
    };
    node.self = node;
    node.map.set("self", node);
    return node;
  };
  same(cycle(1), cycle(1));
  differ(cycle(1), cycle(2));
});

Deno.test("equal() does not let a failed attempt stand as an assumption", () => {
  const a = { k: 1, inner: { v: 1 } };
  const b = { k: 1, inner: { v: 2 } };
  differ([a, a], [b, b]);
  differ(new Set([a, { z: 1 }]), new Set([b, { z: 1 }]));
});

Deno.test("equal() looks through weak references and refuses weak collections", () => {
  const target = { a: 1 };
  same(new WeakRef(target), new WeakRef({ a: 1 }));
  differ(new WeakRef(target), target);
  differ(new WeakMap(), new WeakSet());
  assertThrows(() => equal(new WeakMap(), new WeakMap()), TypeError, "WeakMap");
  assertThrows(() => equal(new WeakSet(), new WeakSet()), TypeError, "WeakSet");
});
