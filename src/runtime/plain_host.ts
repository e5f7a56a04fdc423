// Addresses of peers in the form in which the program compares and prints them. The net and http
// adapters call it for every stream and request.

/** Returns an address as people write it: an IPv4 peer of a dual-stack socket has no IPv6 prefix. */
export function plainHost(address: string | undefined): string {
  if (address === undefined) return "";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
