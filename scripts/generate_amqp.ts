// Generates src/amqp/methods_gen.ts from the protocol definition beside this script: constants,
// argument types, decoders and encoders of every method, both directions. Run it after changing the
// definition; `--check` only compares and exits 1 if the checked-in file is stale.

import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

interface ArgumentDefinition {
  readonly name: string;
  readonly type?: string;
  readonly domain?: string;
  readonly "default-value"?: string | number | boolean | Record<string, never>;
}

interface MethodDefinition {
  readonly id: number;
  readonly name: string;
  readonly synchronous?: boolean;
  readonly content?: boolean;
  readonly arguments: readonly ArgumentDefinition[];
}

interface ClassDefinition {
  readonly id: number;
  readonly name: string;
  readonly methods: readonly MethodDefinition[];
}

interface ProtocolDefinition {
  readonly copyright: readonly string[];
  readonly domains: readonly (readonly [string, string])[];
  readonly classes: readonly ClassDefinition[];
}

interface Argument {
  readonly name: string;
  readonly type: string;
  readonly isReserved: boolean;
  readonly defaultValue: string;
}

interface Method {
  readonly wireName: string;
  readonly typeName: string;
  readonly keyName: string;
  readonly key: number;
  readonly isSynchronous: boolean;
  readonly hasContent: boolean;
  readonly all: readonly Argument[];
  readonly visible: readonly Argument[];
}

// Arguments that 0-9-1 reserves: skipped when read, zero when written.
const RESERVED: ReadonlySet<string> = new Set([
  "ticket",
  "connection.open capabilities",
  "connection.open insist",
  "connection.open-ok known-hosts",
  "channel.open out-of-band",
  "channel.open-ok channel-id",
  "basic.get-empty cluster-id",
]);

// An encoder with more arguments than this takes them as one object.
const POSITIONAL_MAX = 3;

const TYPESCRIPT_TYPES: Readonly<Record<string, string>> = {
  bit: "boolean",
  octet: "number",
  short: "number",
  long: "number",
  longlong: "number",
  shortstr: "string",
  longstr: "Uint8Array",
  table: "FieldTable",
};

const ZERO_VALUES: Readonly<Record<string, string>> = {
  bit: "false",
  octet: "0",
  short: "0",
  long: "0",
  longlong: "0",
  shortstr: '""',
  longstr: "EMPTY_BYTES",
  table: "EMPTY_TABLE",
};

const WRITERS: Readonly<Record<string, string>> = {
  octet: "u8",
  short: "u16",
  long: "u32",
  longlong: "u64",
  shortstr: "shortString",
  longstr: "longString",
};

function pascal(name: string): string {
  return name.split(/[-. ]/).map((part) => part[0]!.toUpperCase() + part.slice(1)).join("");
}

function camel(name: string): string {
  const joined = pascal(name);
  return joined[0]!.toLowerCase() + joined.slice(1);
}

function defaultOf(type: string, given: ArgumentDefinition["default-value"]): string {
  if (given === undefined || type === "table") return ZERO_VALUES[type]!;
  if (type === "longstr") {
    return given === "" ? "EMPTY_BYTES" : `encodeText(${JSON.stringify(given)})`;
  }
  return JSON.stringify(given);
}

function isReserved(method: string, name: string): boolean {
  if (name === "ticket") return method !== "access.request-ok";
  return RESERVED.has(`${method} ${name}`);
}

function readMethods(definition: ProtocolDefinition): Method[] {
  const domains = new Map(definition.domains);
  return definition.classes.flatMap((cls) =>
    cls.methods.map((method) => {
      const wireName = `${cls.name}.${method.name}`;
      const all = method.arguments.map((argument) => {
        const type = argument.type ?? domains.get(argument.domain!)!;
        return {
          name: camel(argument.name),
          type,
          isReserved: isReserved(wireName, argument.name),
          defaultValue: defaultOf(type, argument["default-value"]),
        };
      });
      return {
        wireName,
        typeName: pascal(wireName),
        keyName: wireName.replace(/[.-]/g, "_").toUpperCase(),
        key: cls.id * 0x10000 + method.id,
        isSynchronous: method.synchronous ?? false,
        hasContent: method.content ?? false,
        all,
        visible: all.filter((argument) => !argument.isReserved),
      };
    })
  );
}

// Splits arguments into runs: consecutive bits share octets of eight, everything else stands alone.
function runsOf(args: readonly Argument[]): Argument[][] {
  const runs: Argument[][] = [];
  for (const argument of args) {
    const last = runs.at(-1);
    const joins = argument.type === "bit" && last?.[0]?.type === "bit" && last.length < 8;
    if (joins) last.push(argument);
    else runs.push([argument]);
  }
  return runs;
}

function isPositional(method: Method): boolean {
  return method.visible.length <= POSITIONAL_MAX;
}

function argumentsType(method: Method): string {
  const lines = method.visible.map((argument) =>
    `  /** Argument \`${argument.name}\` (${argument.type}). */\n` +
    `  readonly ${argument.name}: ${TYPESCRIPT_TYPES[argument.type]};`
  );
  return [
    `/** Arguments of ${method.wireName}. */`,
    `export interface ${method.typeName} {`,
    ...lines,
    "}",
  ].join("\n");
}

function readLine(argument: Argument): string {
  const { name, type } = argument;
  if (argument.isReserved) {
    if (type === "shortstr") return "  reader.skipShortstr();";
    if (type === "longstr") return "  reader.skipLongstr();";
    return `  reader.${type}();`;
  }
  const call = type === "table" ? "table(limits)" : `${type}()`;
  return `  const ${name}_ = reader.${call};`;
}

function readLines(run: readonly Argument[]): string[] {
  if (run[0]!.type !== "bit") return [readLine(run[0]!)];
  const bits = run.flatMap((argument, index) =>
    argument.isReserved ? [] : [`  const ${argument.name}_ = reader.bit(${index});`]
  );
  return ["  reader.bitOctet();", ...bits];
}

function decoder(method: Method): string {
  const usesTable = method.visible.some((argument) => argument.type === "table");
  const limits = usesTable ? "  limits: FieldTableLimits = FIELD_TABLE_LIMITS,\n" : "";
  const fields = method.visible.map((argument) => `${argument.name}: ${argument.name}_`);
  return [
    `/** Decodes the arguments of ${method.wireName} from \`bytes[start, end)\`. */`,
    `export function decode${method.typeName}(`,
    "  bytes: Uint8Array,",
    "  start: number,",
    "  end: number,",
    `${limits}): ${method.typeName} {`,
    `  const reader = new ArgumentReader(bytes, start, end, ${method.keyName});`,
    ...runsOf(method.all).flatMap(readLines),
    "  reader.finish();",
    `  return { ${fields.join(", ")} };`,
    "}",
  ].join("\n").replace("{  }", "{}");
}

function writeLines(run: readonly Argument[], valueOf: (argument: Argument) => string): string[] {
  const argument = run[0]!;
  if (argument.type === "bit") {
    const bits = run.map((bit, index) => `(${valueOf(bit)} ? ${1 << index} : 0)`);
    const visible = bits.filter((_, index) => !run[index]!.isReserved);
    return [`  out.u8(${visible.length === 0 ? "0" : visible.join(" | ")});`];
  }
  if (argument.type === "table") return [`  writeFieldTable(out, ${valueOf(argument)});`];
  const value = argument.isReserved ? ZERO_VALUES[argument.type]! : valueOf(argument);
  return [`  out.${WRITERS[argument.type]}(${value});`];
}

function encoder(method: Method): string {
  const positional = isPositional(method);
  const parameters = positional
    ? method.visible.map((argument) => `  ${argument.name}: ${encodeType(argument)},`)
    : [`  args: Partial<${method.typeName}>,`];
  const valueOf = (argument: Argument): string => {
    if (positional || argument.isReserved) return argument.name;
    if (argument.type === "bit") return `args.${argument.name} ?? ${argument.defaultValue}`;
    return `args.${argument.name} ?? ${argument.defaultValue}`;
  };
  return [
    `/** Writes a whole ${method.wireName} frame. */`,
    `export function write${method.typeName}(`,
    "  out: ByteWriter,",
    "  channel: number,",
    ...parameters,
    "): void {",
    `  const at = beginMethod(out, channel, ${method.keyName});`,
    ...runsOf(method.all).flatMap((run) => writeLines(run, valueOf)),
    "  endMethod(out, at);",
    "}",
  ].join("\n");
}

function encodeType(argument: Argument): string {
  return TYPESCRIPT_TYPES[argument.type]!;
}

function codecEntry(method: Method): string {
  const values = method.visible.map((argument) => `args.${argument.name}`);
  const parameters = isPositional(method) ? values : ["args"];
  const takes = method.visible.length > 0 ? `args: ${method.typeName}` : "";
  const signature = ["out", "channel", takes].filter((part) => part !== "").join(", ");
  return [
    "  codec({",
    `    key: ${method.keyName},`,
    `    name: "${method.wireName}",`,
    `    isSynchronous: ${method.isSynchronous},`,
    `    hasContent: ${method.hasContent},`,
    `    decode: decode${method.typeName},`,
    `    write: (${signature}) => write${method.typeName}(${
      ["out", "channel", ...parameters].join(", ")
    }),`,
    "  }),",
  ].join("\n");
}

const PRELUDE = `
import type { ByteWriter } from "../lib/byte_writer.ts";
import { EMPTY_BYTES } from "../lib/bytes.ts";
import { encodeText } from "../lib/text.ts";
import { ArgumentReader } from "./argument_reader.ts";
import { FIELD_TABLE_LIMITS, writeFieldTable } from "./field_table.ts";
import type { FieldTableLimits } from "./field_table.ts";
import { EMPTY_TABLE } from "./field_value.ts";
import type { FieldTable } from "./field_value.ts";
import { beginMethod, endMethod } from "./method_frame.ts";

/** One method in a form that handles all methods alike: for logs, tests and simulated clients. */
export interface MethodCodec {
  /** Class id in the upper, method id in the lower 16 bits. */
  readonly key: number;
  /** The name as in the protocol: \`queue.declare-ok\`. */
  readonly name: string;
  /** Whether it is a request that the peer answers. */
  readonly isSynchronous: boolean;
  /** Whether a content header and body follow. */
  readonly hasContent: boolean;
  /** Decodes the arguments from \`bytes[start, end)\`. */
  readonly decode: (bytes: Uint8Array, start: number, end: number) => object;
  /** Writes the whole frame; \`args\` must have the type that \`decode\` returns. */
  readonly write: (out: ByteWriter, channel: number, args: object) => void;
}

interface TypedCodec<T extends object> extends Omit<MethodCodec, "decode" | "write"> {
  readonly decode: (bytes: Uint8Array, start: number, end: number) => T;
  readonly write: (out: ByteWriter, channel: number, args: T) => void;
}

function codec<T extends object>(typed: TypedCodec<T>): [number, MethodCodec] {
  return [typed.key, typed as unknown as MethodCodec];
}
`;

function licence(definition: ProtocolDefinition): string {
  // The notice ends where the remarks about the definition's own sources begin.
  const end = definition.copyright.findIndex((line) => line.startsWith("Class information"));
  return definition.copyright.slice(0, end).map((line) => `// ${line}`.trimEnd()).join("\n")
    .replace(/(\n\/\/)+$/, "");
}

/** The text of src/amqp/methods_gen.ts for a protocol definition. */
export function generate(definition: ProtocolDefinition): string {
  const methods = readMethods(definition);
  const sections = [
    "// Generated by scripts/generate_amqp.ts from scripts/amqp-rabbitmq-0.9.1.json. Do not edit.\n" +
    "// Constants, argument types, decoders and frame encoders of every method. Field tables are decoded\n" +
    "// eagerly: the methods that carry them are rare. The hot methods have readers and writers of\n" +
    "// their own in hot_methods.ts and hot_frames.ts. The definition comes with this notice:\n//\n" +
    licence(definition) + "\n\n// deno-fmt-ignore-file\n// deno-lint-ignore-file",
    PRELUDE.trim(),
    ...methods.map((method) =>
      `/** Key of ${method.wireName}: class id << 16 | method id. */\n` +
      `export const ${method.keyName} = 0x${method.key.toString(16).padStart(8, "0")};`
    ),
    ...methods.flatMap((method) => [argumentsType(method), decoder(method), encoder(method)]),
    "/** Every method by its key. */\n" +
    `export const METHODS: ReadonlyMap<number, MethodCodec> = new Map<number, MethodCodec>([\n${
      methods.map(codecEntry).join("\n")
    }\n]);`,
  ];
  return sections.join("\n\n") + "\n";
}

/** Reads the definition beside this script. */
export function readDefinition(): ProtocolDefinition {
  const url = new URL("./amqp-rabbitmq-0.9.1.json", import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")) as ProtocolDefinition;
}

/** Where the generated module is checked in. */
export const GENERATED_URL: URL = new URL("../src/amqp/methods_gen.ts", import.meta.url);

function main(args: readonly string[]): number {
  const generated = generate(readDefinition());
  if (!args.includes("--check")) {
    writeFileSync(GENERATED_URL, generated);
    return 0;
  }
  if (readFileSync(GENERATED_URL, "utf8") === generated) return 0;
  process.stderr.write("src/amqp/methods_gen.ts is stale: run scripts/generate_amqp.ts\n");
  return 1;
}

if (import.meta.main) process.exit(main(process.argv.slice(2)));
