// The exports that no other file of src/ and core-wasm/ imports and that stay nevertheless, with the
// reason. scripts/unused.ts reads the table; it also reports an entry that is not needed any more.

/** Exports of one file that stay. */
export interface Kept {
  readonly path: string;
  /** Names of exports; "*" for all of the file. */
  readonly names: readonly string[];
  readonly why: string;
}

/** All that stay. */
export const KEPT: readonly Kept[] = [
  {
    path: "src/amqp/methods_gen.ts",
    names: ["*"],
    why: "It is generated whole. The clients of the tests write and read what a broker does not.",
  },
  {
    path: "src/amqp/properties.ts",
    names: ["decodeProperties", "Properties", "writeProperties"],
    why: "The clients of the tests write and read whole properties.",
  },
  {
    path: "src/amqp/field_json.ts",
    names: ["fieldTableFrom", "PlainObject", "PlainValue"],
    why: "The way back of what management shows. Tests write their tables with it.",
  },
  {
    path: "src/amqp/field_value.ts",
    names: ["fieldTablesEqual"],
    why: "Tests compare tables as a redeclare compares the values in them.",
  },
  {
    path: "src/broker/queue/get_head.ts",
    names: ["GET_MESSAGE"],
    why: "One of four outcomes. The session looks for the other three.",
  },
  {
    path: "src/broker/retry/lookup.ts",
    names: ["*"],
    why: "Finds a delayed message by its name, for operations on single messages.",
  },
  {
    path: "src/broker/topology/definitions.ts",
    names: ["tableJson"],
    why: "Its test proves that tables with every type come back from the disk as they were.",
  },
  {
    path: "src/lib/bounded_logger.ts",
    names: ["LINES_AT_ONCE"],
    why: "Tests go up to the limit and over it.",
  },
  {
    path: "src/management/list_desk.ts",
    names: ["IDLE_MS_MAX", "SEATS_MAX", "WAITING_MAX"],
    why: "Tests go up to the limits and over them.",
  },
  {
    path: "src/management/slices.ts",
    names: ["SLICE_UNITS"],
    why: "Tests go up to the limit and over it.",
  },
  {
    path: "src/lib/nearest.ts",
    names: ["distanceOf"],
    why: "Its test proves the measure by which the functions beside it choose.",
  },
  {
    path: "src/runtime/starter.ts",
    names: ["isStart"],
    why: "Its test proves a pattern over many scripts without a process for each.",
  },
  {
    path: "src/runtime/port.ts",
    names: ["StreamRoom"],
    why: "A port that the tests implement.",
  },
  {
    path: "core-wasm/instance.ts",
    names: ["abiVersion"],
    why: "Its test compares it with the number in the WebAssembly module.",
  },
];
