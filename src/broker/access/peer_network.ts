// Which addresses count as one peer where peers are counted: an IPv4 address counts alone, an IPv6
// address together with its /64, in which one machine can have any number of addresses. Pure.

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** Returns the key under which peers at `host` are counted. */
export function networkOf(host: string): string {
  if (!host.includes(":")) return host;
  const plain = host.split("%", 1)[0]!.toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail = ""] = plain.split("::", 2);
  const before = groupsOf(head);
  const after = groupsOf(tail);
  const missing = Math.max(0, GROUPS - before.length - after.length);
  const groups = [...before, ...Array<string>(missing).fill("0"), ...after];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.replace(/^0+(?=.)/, ""));
  return `${network.join(":")}::/64`;
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}
