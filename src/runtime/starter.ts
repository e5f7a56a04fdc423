// Whether npm, which started this program, is still there. npm runs commands in a shell and passes signals
// on to that shell alone, which dies of them and tells nobody: so SIGTERM to `npx ... task start` or to
// `npm start` would leave the broker running. main.ts asks for this watch; it does nothing unless the whole
// command of npm is the start of this program. A broker started in any other way outlives its starter.

import { isRunning, type ProcessIdentity } from "./process_identity.ts";
import { type Ancestor, lineage } from "./process_table.ts";

/** Who has to be there, and whether somebody went away before that could be told. */
export interface Starter {
  readonly processes: readonly ProcessIdentity[];
  readonly isGone: boolean;
}

const LOOK_MS = 400;

const IN_SHELL = /^\S*sh -c (?:-- )?(.*)$/s;
const QUOTED = /'[^']*'|"[^"]*"/g;
/** More than one command, or one that nobody waits for. */
const OPERATOR = /[;&|<>`$()\n]/;
const LAUNCHED = /^'?(?:\S*\/)?(?:deno|bun|node)'? .*(?:\bstart\b|src\/main\.ts|reprise\.js)/s;
const OWN_NAME = /^'?(?:\S*\/)?reprise'?(?: |$)/;
const PACKAGE_RUNNER = /^(?:\S*\/)?(?:node \S*)?(?:npm|npx|pnpm|yarn)\b/;
const TASK_RUNNER = /^\S*(?:deno task|bun run) start\b/;

/** Whether a shell's command is the start of this program and nothing besides. */
export function isStart(script: string): boolean {
  if (!LAUNCHED.test(script) && !OWN_NAME.test(script)) return false;
  return !OPERATOR.test(script.replaceAll(QUOTED, "''"));
}

/**
 * The processes from npm down to this one when npm was told to start this program; null when it was not,
 * or when that cannot be told.
 */
export function starterOf(
  environment: Readonly<Record<string, string>>,
  ancestors: () => readonly Ancestor[] = lineage,
): Starter | null {
  if (environment["npm_lifecycle_event"] === undefined) return null;
  const [own, ...all] = ancestors();
  if (own === undefined) return null;
  // What has a group of its own was put aside on purpose, by a terminal or as a service.
  const end = all.findIndex(({ groupId }) => groupId !== own.groupId);
  const above = end < 0 ? all : all.slice(0, end);
  const shell = above.findIndex(({ command }) => isStart(IN_SHELL.exec(command)?.[1] ?? ""));
  if (shell >= 0) {
    const processes = all.slice(0, shell + 2).map(({ identity }) => identity);
    return { processes, isGone: all.length < shell + 2 };
  }
  return { processes: [], isGone: isLeftAlone(environment, own, above) };
}

/** Whether npm and its shell have gone already: what they started has another parent now. */
function isLeftAlone(
  environment: Readonly<Record<string, string>>,
  own: Ancestor,
  above: readonly Ancestor[],
): boolean {
  // Bun sets the same variables for its own scripts, but it does not call itself npm.
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

/** Calls back once when one of those who started this program has gone; returns how to stop looking. */
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
