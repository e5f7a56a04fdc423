// Patterns as people write them for RabbitMQ: in permissions, topic permissions, policies and filters
// of lists, with names that they match and names that they do not. The unit test and the bench read
// them; the differential test asks Erlang about them.

/** A pattern and what it is for. */
export interface CorpusPattern {
  readonly pattern: string;
  readonly matches: readonly string[];
  readonly misses: readonly string[];
  /** What `{name}` stands for, in topic permissions. */
  readonly variables?: Readonly<Record<string, string>>;
}

const row = (
  pattern: string,
  matches: string,
  misses: string,
  variables?: Readonly<Record<string, string>>,
): CorpusPattern => ({
  pattern,
  matches: words(matches),
  misses: words(misses),
  ...(variables && { variables }),
});

/** Splits at spaces; `''` is the empty name. */
function words(text: string): string[] {
  return text === "" ? [] : text.split(" ").map((word) => word === "''" ? "" : word);
}

const ANN = { username: "ann.smith", vhost: "/" };
const LONG_NAME = "orders.".repeat(36);

const raw = String.raw;

/** The patterns. */
export const PATTERN_CORPUS: readonly CorpusPattern[] = [
  // Permissions.
  row(".*", "'' orders amq.gen-1", ""),
  row("", "'' orders", ""),
  row("^$", "''", "orders a"),
  row("^orders-.*", "orders-eu orders-", "orders my-orders-eu"),
  row("^(orders|billing)\\..+$", "orders.eu billing.x", "orders. shipping.eu xorders.eu"),
  row("^(?!amq\\.).*", "orders '' amq", "amq.direct amq.gen-x"),
  row("^(?!amq\\.|.*\\.dlq$).+$", "orders dlq", "amq.topic orders.dlq ''"),
  row("^amq\\.(gen|default).*|^reply-", "amq.gen-Xa amq.default reply-1", "amq.topic my-reply-"),
  row("^(amq\\.default|svc-[a-z0-9]{3,12})$", "amq.default svc-ab1", "svc-ab svc-ABC svc-"),
  row("^team-(a|b)-(?:in|out|dlq)(?:\\.\\d+)?$", "team-a-in team-b-dlq.12", "team-c-in team-a-in."),
  row(
    raw`^celery(ev|beat)?(\..*|@.*\.pidbox)?$`,
    "celery celeryev.x celery@h.celery.pidbox",
    "celerys",
  ),
  row(raw`.*\.(?<!dead\.)letters$`, "new.letters", "dead.letters letters"),
  row(raw`(?<!-internal)$`, "orders", "orders-internal"),
  row(raw`^(?=.*eu)(?=.*orders).*$`, "eu.orders orders-eu", "orders us.orders eu"),
  row(raw`^((?!secret).)*$`, "orders '' secre", "my-secret secret"),
  row(raw`^(?i:orders)-[[:upper:]]{2}$`, "Orders-EU ORDERS-US", "orders-eu orders-EUR"),
  row(raw`^\Qa.b+c\E(\.|$)`, "a.b+c a.b+c.d", "aXb+c a.b+cd"),
  row(raw`^[\w.:@-]+$`, "a.b:c@d-e", "a/b '' a|b"),
  row(raw`^(?:[^.]+\.){2}[^.]+$`, "a.b.c", "a.b a.b.c.d a..c"),
  row(raw`\Aorders\z`, "orders", "orders1 xorders"),
  row("orders", "orders my-orders-eu", "order"),
  // Topic permissions.
  row("^{username}\\.", "ann.smith.a", "annXsmith.a bob.a", ANN),
  row("^{vhost}-{username}$", "/-ann.smith", "/-bob {vhost}-{username}", ANN),
  row(raw`^\Q{username}\E\.[a-z]+$`, "ann.smith.x", "annXsmith.x ann.smith.", ANN),
  row("^(public|{username})(\\.|$)", "public.a public ann.smith", "publicity ann", ANN),
  row("^x{vhost}{2}$", "x//", "x/ x", ANN),
  row("^.*{username}.*$", "a.*.b .*", "ann", { username: ".*" }),
  row("^({client_id})$", "{client_id}", "x"),
  // Policies.
  row("^ha\\.|^two-nodes", "ha.orders two-nodes-x", "myha.x"),
  row("^(?!amq\\.|mqtt-).*(?<!\\.retry)$", "orders", "amq.x mqtt-1 orders.retry"),
  row("^(?:(?!\\.tmp).)*\\.(?:log|trace)\\b", "a.log b.trace-1", "a.tmp.log a.logs"),
  row(
    "^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    "0b1c2d3e-0a1b-2c3d-4e5f-0123456789ab",
    "0b1c",
  ),
  row("^(?>eu|us)-.++$", "eu-1", "eu- asia-1"),
  row("(?x) ^ (orders | bills) # what \n \\. \\d+ $", "orders.1 bills.22", "orders. x.1"),
  row(raw`^\p{Lu}[\p{L}\d]*$`, "Ärger Orders1", "ärger 1a"),
  // What takes others forever.
  row("(a+)+$", "aaa", "b ''"),
  row("^(a|a)*b$", "b aab", `${"a".repeat(200)} aac`),
  row("^(a|aa)+$", "aaaa", `${"a".repeat(200)}b`),
  row("^(([a-z])+.)+[A-Z]([a-z])+$", "abcAz", "a".repeat(200)),
  row("(.*a){20}b", `${"a".repeat(20)}b`, "a".repeat(60)),
  row("^(.?){200}(a|b|c){50}z$", `${"a".repeat(60)}z`, "a".repeat(250)),
  row("^((?=(a+)+b)a)*b$", "aab b", "a".repeat(200)),
  row("^(?:(?!(?:x+x+)+y).)*$", "a".repeat(50), "xxy"),
  row("(?=(?=(?=.*a).*b).*c)z", "zabc zcba", "zab"),
  row("^(\\w+\\.?)*$", LONG_NAME, `${LONG_NAME}!`),
];
