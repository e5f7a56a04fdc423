// The load of a measurement: bench/amqpblast.c, compiled once and run as processes of their own. The
// programs in this folder call it.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The compiled program. */
export type Blast = string & { readonly blast: unique symbol };

/** What one run says, messages a second. */
export interface Rates {
  readonly published: number;
  readonly consumed: number;
  readonly confirmed: number;
}

/** Compiles the program, which goes when the process ends; needs a C compiler. */
export function compileBlast(): Blast {
  const folder = mkdtempSync(join(tmpdir(), "amqpblast-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  const program = join(folder, "amqpblast");
  const source = new URL("../amqpblast.c", import.meta.url).pathname;
  execFileSync("cc", ["-O2", "-w", "-pthread", "-o", program, source]);
  return program as Blast;
}

/** Runs it against a port of this machine until it ends by itself. */
export function runBlast(blast: Blast, port: number, args: readonly string[]): Promise<Rates> {
  return new Promise((resolve, reject) => {
    const options = { stdio: ["ignore", "pipe", "ignore"] as ["ignore", "pipe", "ignore"] };
    const child = spawn(blast, ["-p", String(port), ...args], options);
    let text = "";
    child.stdout.on("data", (bytes) => text += bytes);
    child.once("error", reject);
    child.once("close", () => {
      const [published = 0, consumed = 0, confirmed = 0] = [...text.matchAll(/(\d+) msg\/s/g)].map(
        (match) => Number(match[1]),
      );
      resolve({ published, consumed, confirmed });
    });
  });
}
