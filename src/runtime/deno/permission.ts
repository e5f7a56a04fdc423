// The permission to listen. Deno's node: modules throw a missing permission where it cannot be caught,
// so the net and http adapters of Deno request it beforehand.

import { formatAddress, ListenError } from "../listen_error.ts";

/** Resolves when listening is permitted. Rejects with {@linkcode ListenError} when it is not. */
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
