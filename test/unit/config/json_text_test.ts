// The strict reader beside the runtime's own: the same values, and places of faults instead of text.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/config/config_error.ts";
import { readJsonText } from "../../../src/config/json_text.ts";

Deno.test("readJsonText() reads what JSON.parse reads", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    assertEquals(readJsonText(text, "f"), JSON.parse(text));
  }));
  const spaced =
    '\ufeff \n\t{ "a" : [ 1 , -2.5e3 , "\\u00e4\\n" , true , null ] , "__proto__" : {} }\r\n';
  const read = readJsonText(spaced, "f") as Record<string, unknown>;
  assertEquals(Object.keys(read), ["a", "__proto__"]);
  assertEquals(read["a"], [1, -2500, "ä\n", true, null]);
});

Deno.test("readJsonText() refuses what JSON.parse refuses, wherever a text is cut or changed", () => {
  const edits = fc.tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom("", ",", "}", "]", '"', "x", "0", "\n"),
  );
  fc.assert(
    fc.property(edits, ([whole, at, put]) => {
      const start = at % (whole.length + 1);
      const text = whole.slice(0, start) + put + whole.slice(start + 1);
      if (isJson(text)) readsOrNamesTwice(text);
      else assertThrows(() => readJsonText(text, "f"), ConfigError, "f: not JSON at line ");
    }),
    { examples: [[['[{"":{" ":" ","  ":false}}]', 15, ""]]] },
  );
});

// JSON.parse takes a name that stands twice in one object; an edit may make one.
function readsOrNamesTwice(text: string): void {
  try {
    assertEquals(readJsonText(text, "f"), JSON.parse(text));
  } catch (error) {
    assert(error instanceof ConfigError, String(error));
    const name = /expected each name once, "(.*)" stands there twice$/.exec(error.message)?.[1];
    assert(name !== undefined && text.split(`"${name}"`).length > 2, error.message);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("readJsonText() says where a text is no JSON, and repeats nothing of it", () => {
  const cases: [string, string][] = [
    ["", "line 1, column 1: expected a value"],
    ['{\n  "a": secret\n}', "line 2, column 8: expected a value"],
    ['{"a": "secret\n"}', "line 1, column 7: expected text that ends with a double quote"],
    ['{"a": 1,}', "line 1, column 9: expected a name in double quotes"],
    ["[1 2]", "line 1, column 4: expected a comma or ]"],
    ["{a: 1}", "line 1, column 2: expected a name in double quotes"],
    ['{"a" 1}', "line 1, column 6: expected a colon"],
    ["1 secret", "line 1, column 3: expected the end of the text"],
    ["01", "line 1, column 2: expected the end of the text"],
    ['{"a": 1, "a": 2}', 'line 1, column 10: expected each name once, "a" stands there twice'],
    ["[".repeat(33), "line 1, column 33: expected at most 32 lists and objects inside one another"],
  ];
  for (const [text, expected] of cases) {
    const { message } = assertThrows(() => readJsonText(text, "f"), ConfigError);
    assertStringIncludes(message, `f: not JSON at ${expected}`);
    assert(!message.includes("secret"), message);
  }
});
