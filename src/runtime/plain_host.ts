// Addresses of peers as the rest of the program compares and prints them. Called by the net and http
// adapters for every stream and request.

/** An address as people write it: IPv4 peers of a dual-stack socket without their IPv6 prefix. */
export function plainHost(address: string | undefined): string {
  if (address === undefined) return "";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
