// The permission to listen. The modules of node throw a missing one where nobody can catch it, so the
// net and http adapters of Deno ask for it beforehand.

import { formatAddress, ListenError } from "../listen_error.ts";

/** Resolves when listening is permitted; rejects with {@linkcode ListenError} when it is not. */
export async function permitListening(
  purpose: string,
  address: { host: string; port: number },
): Promise<void> {
  if (!await isPermitted(purpose, address)) {
    throw new ListenError(purpose, address, { code: "NotCapable" });
  }
}

async function isPermitted(
  purpose: string,
  address: { host: string; port: number },
): Promise<boolean> {
  const host = formatAddress(address.host, address.port);
  try {
    return (await Deno.permissions.request({ name: "net", host })).state === "granted";
  } catch (error) {
    throw new ListenError(purpose, address, error);
  }
}
