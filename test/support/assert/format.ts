// Prints any value the same way on every runtime, one member per line, keys sorted, for the diff of
// a failed assertEquals. The inspectors of the runtimes differ, so their output cannot be compared
// in our own tests. Never throws: an accessor that does is printed as such.

const DEPTH_MAX = 12;
const MEMBERS_MAX = 2000;
const INLINE_CHARS_MAX = 80;

/** Prints a value for a person, over several lines when it does not fit into one. */
export function format(value: unknown): string {
  return print(value, []);
}

function print(value: unknown, path: object[]): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "function") return `[Function ${value.name || "(anonymous)"}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (path.includes(value)) return "[Circular]";
  if (path.length >= DEPTH_MAX) return "[...]";
  try {
    return printObject(value, [...path, value]);
  } catch (error) {
    return `[unprintable: ${error instanceof Error ? error.message : String(error)}]`;
  }
}

function printObject(value: object, path: object[]): string {
  const name = Object.getPrototypeOf(value)?.constructor?.name ?? "[Object: null prototype]";
  if (value instanceof Error) return `${value.name}: ${JSON.stringify(value.message)}`;
  if (value instanceof Date) return `Date ${isNaN(value.getTime()) ? "NaN" : value.toISOString()}`;
  if (value instanceof RegExp) return String(value);
  if (value instanceof URL) return `URL ${value}`;
  if (value instanceof ArrayBuffer) return printList(name, new Uint8Array(value), path);
  if (value instanceof DataView) {
    return printList(name, new Uint8Array(value.buffer, value.byteOffset, value.byteLength), path);
  }
  if (ArrayBuffer.isView(value)) {
    return printList(name, value as unknown as ArrayLike<unknown>, path);
  }
  if (Array.isArray(value)) return printList(name === "Array" ? "" : name, value, path);
  if (value instanceof Map) return printMap(name, value, path);
  if (value instanceof Set) return printMembers(name, "{}", printAll(value, path).sort());
  return printRecord(name, value, path);
}

function printAll(values: Iterable<unknown>, path: object[]): string[] {
  return Array.from(values, (value) => print(value, path));
}

function printList(name: string, list: ArrayLike<unknown>, path: object[]): string {
  const shown = Math.min(list.length, MEMBERS_MAX);
  const members: string[] = [];
  for (let i = 0; i < shown; i++) members.push(print(list[i], path));
  if (shown < list.length) members.push(`... ${list.length - shown} more`);
  return printMembers(name === "" ? "" : `${name}(${list.length})`, "[]", members);
}

function printMap(name: string, map: Map<unknown, unknown>, path: object[]): string {
  const members = Array.from(map, ([key, value]) => `${print(key, path)} => ${print(value, path)}`);
  return printMembers(name, "{}", members.sort());
}

function printRecord(name: string, value: object, path: object[]): string {
  const members = Reflect.ownKeys(value).map((key) =>
    `${printKey(key)}: ${print(Reflect.get(value, key), path)}`
  );
  return printMembers(name === "Object" ? "" : name, "{}", members.sort());
}

function printKey(key: string | symbol): string {
  if (typeof key === "symbol") return `[${String(key)}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

function printMembers(name: string, brackets: string, members: string[]): string {
  const [open, close] = brackets as unknown as [string, string];
  const prefix = name === "" ? "" : `${name} `;
  if (members.length === 0) return `${prefix}${open}${close}`;
  const inline = `${prefix}${open} ${members.join(", ")} ${close}`;
  if (inline.length <= INLINE_CHARS_MAX && !inline.includes("\n")) return inline;
  const body = members.map((member) => `  ${member.replaceAll("\n", "\n  ")},`);
  return [`${prefix}${open}`, ...body, close].join("\n");
}
