// What the client tests do with every library: one small interface over each library's own calls, so
// that a scenario is written once and runs with each library's own protocol code.

/** A message as a client library hands it out. */
export interface Received {
  readonly body: Uint8Array;
  readonly exchange: string;
  readonly routingKey: string;
  readonly redelivered: boolean;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly deliveryTag: number;
  /** The library's own object. */
  readonly native: unknown;
}

/** A message that could not be routed. */
export interface Returned {
  readonly body: Uint8Array;
  readonly replyCode: number;
  readonly routingKey: string;
}

/** What a queue is declared with. */
export interface QueueOptions {
  durable?: boolean;
  exclusive?: boolean;
  autoDelete?: boolean;
  args?: Record<string, unknown>;
}

/** What a message is published with. */
export interface PublishOptions {
  mandatory?: boolean;
  persistent?: boolean;
  expiration?: string;
  headers?: Record<string, unknown>;
}

/** A queue as its declaration answers. */
export interface DeclaredQueue {
  readonly name: string;
  readonly messageCount: number;
  readonly consumerCount: number;
}

/** A channel of one library, with publisher confirms. */
export interface ClientChannel {
  declareQueue(name: string, options?: QueueOptions): Promise<DeclaredQueue>;
  checkQueue(name: string): Promise<DeclaredQueue>;
  deleteQueue(name: string): Promise<void>;
  purgeQueue(name: string): Promise<number>;
  declareExchange(name: string, type: string): Promise<void>;
  bindQueue(queue: string, exchange: string, key: string): Promise<void>;
  unbindQueue(queue: string, exchange: string, key: string): Promise<void>;
  /** Resolves when the broker has confirmed the message. */
  publish(
    exchange: string,
    key: string,
    body: Uint8Array,
    options?: PublishOptions,
  ): Promise<void>;
  prefetch(count: number): Promise<void>;
  /** Returns the consumer's tag. */
  consume(
    queue: string,
    take: (message: Received) => void,
    options?: { noAck?: boolean },
  ): Promise<string>;
  cancel(tag: string): Promise<void>;
  get(queue: string): Promise<Received | null>;
  ack(message: Received, multiple?: boolean): void;
  nack(message: Received, requeue: boolean, multiple?: boolean): void;
  /** As the library rejects; by nack where it has no reject. */
  reject(message: Received, requeue: boolean): void;
  onReturn(take: (message: Returned) => void): void;
  /** The server has cancelled a consumer. */
  onCancel(take: (tag: string) => void): void;
  close(): Promise<void>;
}

/** A connection of one library. */
export interface ClientConnection {
  openChannel(): Promise<ClientChannel>;
  /** Resolves with what the library says when the server closes the connection. */
  readonly closedByServer: Promise<string>;
  close(): Promise<void>;
}

/** A client library. */
export interface Client {
  readonly name: string;
  connect(url: string): Promise<ClientConnection>;
}

/** Text as bytes. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The body of a message as text. */
export function textOf(message: { readonly body: Uint8Array }): string {
  return new TextDecoder().decode(message.body);
}
