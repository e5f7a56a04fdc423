// The wire protocol AMQP 0-9-1, RabbitMQ's dialect: frames, methods, tables, properties, errors. It
// consists of pure functions and small records over bytes. It knows no sockets, no channels and no
// queues.

export * from "./content_header.ts";
export * from "./errors.ts";
export * from "./field_json.ts";
export * from "./field_table.ts";
export * from "./field_value.ts";
export * from "./frame.ts";
export * from "./frame_parser.ts";
export * from "./hot_frames.ts";
export * from "./hot_methods.ts";
export * from "./method_frame.ts";
export * from "./methods_gen.ts";
export * from "./properties.ts";
export * from "./raw_properties.ts";
export * from "./raw_table.ts";
export * from "./reply_code.ts";
export * from "./rewrite_properties.ts";
export * from "./sasl.ts";
