// One declaration file for the library: starts from what src/mod.ts exports and takes from the emitted
// declarations only what that names. So the types lie beside dist/mod.js, where TypeScript and Deno look
// for them, and need no other file. Called by scripts/build.ts. It stops at what it does not understand.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A declaration at the top of a file. */
interface Declaration {
  readonly name: string;
  readonly isExported: boolean;
  readonly text: string;
}

/** A file as the compiler emits it: what it declares, and which names come from where. */
interface DeclarationFile {
  readonly path: string;
  readonly declarations: readonly Declaration[];
  /** Path of the file that has it, by the name. */
  readonly imported: ReadonlyMap<string, string>;
  /** The same for what is exported again. */
  readonly exportedAgain: ReadonlyMap<string, string>;
}

const DECLARED =
  /^(export )?(?:declare )?(?:abstract )?(?:class|interface|type|const|let|function) (\w+)/m;
const FROM_FILE = /^(import|export) (?:type )?\{([^}]*)\} from "(\.[^"]+)\.ts";$/;

/** Cuts a file at its statements; a comment belongs to what follows it. */
function statementsOf(text: string): string[] {
  const statements: string[] = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const starts = /^[a-z]/.test(line) || line.startsWith("/**");
    if (starts && !isOpen) statements.push(line);
    else if (statements.length > 0) statements[statements.length - 1] += `\n${line}`;
    if (starts) isOpen = line.startsWith("/**");
  }
  return statements.map((one) => one.trimEnd());
}

function read(path: string): DeclarationFile {
  const declarations: Declaration[] = [];
  const imported = new Map<string, string>();
  const exportedAgain = new Map<string, string>();
  for (const text of statementsOf(readFileSync(path, "utf8"))) {
    const [, kind, names = "", from = ""] = FROM_FILE.exec(text) ?? [];
    if (kind !== undefined) {
      const source = join(dirname(path), `${from}.d.ts`);
      for (const name of names.split(",").map((one) => one.trim().replace(/^type /, ""))) {
        if (/\W/.test(name)) throw new Error(`${path}: cannot follow "${name}"`);
        (kind === "import" ? imported : exportedAgain).set(name, source);
      }
      continue;
    }
    const [, exported, name] = DECLARED.exec(text) ?? [];
    if (name !== undefined) declarations.push({ name, isExported: exported !== undefined, text });
  }
  return { path, declarations, imported, exportedAgain };
}

const COMMENT = /\/\*\*[\s\S]*?\*\/|"(?:[^"\\]|\\.)*"/g;

/** The types of the file at `entry` and all they need, as the text of one file. */
export function rollTypes(entry: string): string {
  const files = new Map<string, DeclarationFile>();
  const taken = new Map<string, string>();
  const texts: string[] = [];
  const fileAt = (path: string): DeclarationFile => {
    const file = files.get(path) ?? read(path);
    files.set(path, file);
    return file;
  };
  const take = (path: string, name: string): void => {
    const file = fileAt(path);
    const again = file.exportedAgain.get(name);
    if (again !== undefined) return take(again, name);
    if (taken.get(name) === path) return;
    if (taken.has(name)) throw new Error(`two things are called ${name}: one in ${path}`);
    taken.set(name, path);
    // An interface and a constant may share a name.
    const found = file.declarations.filter((one) => one.name === name);
    if (found.length === 0) throw new Error(`${path} does not declare ${name}`);
    for (const { text } of found) {
      for (const [word] of text.replaceAll(COMMENT, "").matchAll(/\b[A-Za-z_]\w*\b/g)) {
        const source = file.imported.get(word);
        if (source !== undefined) take(source, word);
        else if (word !== name && file.declarations.some((one) => one.name === word)) {
          take(path, word);
        }
      }
      texts.push(path === entry ? text : text.replace(/^export /m, ""));
    }
  };
  const { declarations, exportedAgain } = fileAt(entry);
  for (const name of exportedAgain.keys()) take(entry, name);
  for (const { name, isExported } of declarations) if (isExported) take(entry, name);
  const names = [...exportedAgain.keys()].filter((name) => taken.get(name) !== entry);
  return `${texts.join("\n")}\nexport { ${names.join(", ")} };\n`;
}
