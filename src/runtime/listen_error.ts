// The reason why a port could not be opened, in one line that an operator can act on. The net and http
// adapters of every runtime throw it and main.ts prints it; errors of the runtimes themselves do not
// leave the adapters.

/** A port that could not be opened; `message` is one clear line. */
export class ListenError extends Error {
  /** The operating system's code (`EADDRINUSE`) or the runtime's name for the failure. */
  readonly code: string;

  /** Creates the error for an address from any value that a runtime threw. */
  constructor(purpose: string, address: { host: string; port: number }, cause: unknown) {
    const code = failureCode(cause);
    const where = formatAddress(address.host, address.port);
    super(`cannot listen on ${where} for ${purpose}: ${explain(code, cause)}`, { cause });
    this.name = "ListenError";
    this.code = code;
  }
}

/** Returns `host:port`, with brackets around an IPv6 host. */
export function formatAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function failureCode(cause: unknown): string {
  if (typeof cause !== "object" || cause === null) return "";
  const { code, name } = cause as { code?: unknown; name?: unknown };
  if (typeof code === "string" && code !== "") return code;
  return typeof name === "string" ? name : "";
}

function explain(code: string, cause: unknown): string {
  switch (code) {
    case "EADDRINUSE":
    case "AddrInUse":
      return "the port is in use";
    case "EACCES":
    case "EPERM":
    case "PermissionDenied":
      return "permission denied";
    case "NotCapable":
      return "permission denied (run Deno with --allow-net, or -A)";
    case "EADDRNOTAVAIL":
    case "AddrNotAvailable":
    case "EINVAL":
      return "the address does not belong to this machine";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host name is unknown";
    default:
      return firstLine(cause);
  }
}

function firstLine(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split("\n", 1)[0] ?? text;
}
