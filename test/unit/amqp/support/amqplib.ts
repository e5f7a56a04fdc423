// amqplib's own definitions as an independent oracle for the codec. Its exports map hides them, so the
// files are required by path. Test code only.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const directory = require.resolve("amqplib").replace(/channel_api\.js$/, "lib/");

type Fields = Record<string, unknown>;

interface MethodInfo {
  readonly name: string;
  readonly args: readonly { readonly name: string; readonly type: string }[];
}

interface Definitions {
  decode(id: number, bytes: Uint8Array): Fields;
  encodeMethod(id: number, channel: number, fields: Fields): Uint8Array;
  encodeProperties(id: number, channel: number, bodySize: number, fields: Fields): Uint8Array;
  info(id: number): MethodInfo;
  readonly BasicProperties: number;
}

interface TableCodec {
  encodeTable(buffer: Uint8Array, table: Fields, offset: number): number;
  decodeFields(bytes: Uint8Array): Fields;
}

interface NodeBuffers {
  alloc(byteCount: number): Uint8Array;
  from(bytes: Uint8Array): Uint8Array;
}

/** Method and property codec of amqplib. */
export const oracle = require(`${directory}defs.js`) as Definitions;

/** Field table codec of amqplib. */
export const oracleTables = require(`${directory}codec.js`) as TableCodec;

/** Node's Buffer, which amqplib wants. */
export const Buffers = (require("node:buffer") as { Buffer: NodeBuffers }).Buffer;
