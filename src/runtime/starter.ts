// Watches whether npm, which started this program, still runs. npm runs commands in a shell and passes
// signals to that shell only; the shell dies of a signal and tells nobody. SIGTERM to `npx ... task
// start` or `npm start` would therefore leave the broker running. main.ts starts the watch. It does
// nothing unless npm's whole command is the start of this program: a broker that was started in any
// other way outlives its starter.

import { isRunning, type ProcessIdentity } from "./process_identity.ts";
import { type Ancestor, lineage } from "./process_table.ts";

/** The processes that must keep running, and whether one had ended before they could be found. */
export interface Starter {
  readonly processes: readonly ProcessIdentity[];
  readonly isGone: boolean;
}

const LOOK_MS = 400;

const IN_SHELL = /^\S*sh -c (?:-- )?(.*)$/s;
const QUOTED = /'[^']*'|"[^"]*"/g;
/** Operators of a shell: the script has more than one command, or one that runs in the background. */
const OPERATOR = /[;&|<>`$()\n]/;
const LAUNCHED = /^'?(?:\S*\/)?(?:deno|bun|node)'? .*(?:\bstart\b|src\/main\.ts|reprise\.js)/s;
const OWN_NAME = /^'?(?:\S*\/)?reprise'?(?: |$)/;
const PACKAGE_RUNNER = /^(?:\S*\/)?(?:node \S*)?(?:npm|npx|pnpm|yarn)\b/;
const TASK_RUNNER = /^\S*(?:deno task|bun run) start\b/;

/** Whether a shell script is the start of this program and nothing else. */
export function isStart(script: string): boolean {
  if (!LAUNCHED.test(script) && !OWN_NAME.test(script)) return false;
  return !OPERATOR.test(script.replaceAll(QUOTED, "''"));
}

/**
 * Returns the processes from npm down to this one if npm was told to start this program. Returns null
 * if it was not, or if that cannot be found out.
 */
export function starterOf(
  environment: Readonly<Record<string, string>>,
  ancestors: () => readonly Ancestor[] = lineage,
): Starter | null {
  if (environment["npm_lifecycle_event"] === undefined) return null;
  const [own, ...all] = ancestors();
  if (own === undefined) return null;
  // A process with a group of its own was detached on purpose, by a terminal or as a service.
  const end = all.findIndex(({ groupId }) => groupId !== own.groupId);
  const above = end < 0 ? all : all.slice(0, end);
  const shell = above.findIndex(({ command }) => isStart(IN_SHELL.exec(command)?.[1] ?? ""));
  if (shell >= 0) {
    const processes = all.slice(0, shell + 2).map(({ identity }) => identity);
    return { processes, isGone: all.length < shell + 2 };
  }
  return { processes: [], isGone: isLeftAlone(environment, own, above) };
}

/** Whether npm and its shell have ended already, so that their descendants have another parent now. */
function isLeftAlone(
  environment: Readonly<Record<string, string>>,
  own: Ancestor,
  above: readonly Ancestor[],
): boolean {
  // Bun sets the same variables for its own scripts, but its user agent is not npm.
  if (!environment["npm_config_user_agent"]?.startsWith("npm/")) return false;
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = "" } = environment;
  const isByNpx = event === "npx" && /^'?(?:deno|bun|reprise)'?$/.test(script);
  if (!isByNpx && !isStart(script)) return false;
  if (above.some(({ command }) => PACKAGE_RUNNER.test(command))) return false;
  const launchers = above.filter(({ command }) => TASK_RUNNER.test(command));
  const top = launchers.at(-1) ?? own;
  const isTop = above.length === launchers.length;
  return isTop && top.identity.pid !== top.groupId;
}

/**
 * Calls back once when one of the processes that started this program has ended. Returns a function
 * that stops the watch.
 */
export function onStarterGone(starter: Starter | null, callback: () => void): () => void {
  if (starter === null || (starter.processes.length === 0 && !starter.isGone)) return () => {};
  const look = (): void => {
    if (!starter.isGone && starter.processes.every((one) => isRunning(one))) return;
    clearInterval(timer);
    callback();
  };
  const timer = setInterval(look, LOOK_MS);
  return () => clearInterval(timer);
}
