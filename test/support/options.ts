// The command line of the programs in test/ that are tasks of their own: `--name=value`. It knows no
// option by name.

import process from "node:process";

/** Returns the value of an option, or `otherwise` when it was not given. */
export function option(name: string, otherwise: string): string {
  const found = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return found?.slice(name.length + 3) ?? otherwise;
}
