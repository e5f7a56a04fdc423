// Deno lint plugin: the shape every source file has: an opening comment, documented exports, short
// functions with few parameters, `#private` members. `deno lint` runs it (see deno.json). What needs
// no syntax tree (file length, leftover notes) is checked by scripts/tidy.ts.

import { projectPath } from "./lint/layers.ts";

const FUNCTION_LINES_MAX = 70;
const PARAMETERS_MAX = 4;
const HEADER_LINES_MAX = 8;

type Context = Deno.lint.RuleContext;
type Visitor = Deno.lint.LintVisitor;
type FunctionNode =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;

function isGenerated(path: string): boolean {
  return path.endsWith("_gen.ts");
}

function isTest(path: string): boolean {
  return path.startsWith("test/") && !path.startsWith("test/support/");
}

/** The assembly of the core talks numbers to its hosts and exports nothing to readers of TypeScript. */
function isAssembly(path: string): boolean {
  return path.startsWith("core-wasm/assembly/");
}

/**
 * Lines of the first paragraph of the comment at the very top of a file; the drawing of a layout may
 * follow after an empty line.
 */
function headerLines(source: string): number {
  const lines = source.replace(/^#!.*\n/, "").split("\n");
  if (lines[0]?.startsWith("/*")) return lines.findIndex((line) => line.includes("*/")) + 1;
  const end = lines.findIndex((line) => !line.startsWith("//") || line.trimEnd() === "//");
  return end < 0 ? lines.length : end;
}

/** A file opens by saying what it is: the concept, who calls it, what it never does. */
function fileHeader(context: Context): Visitor {
  const path = projectPath(context.filename);
  const least = isTest(path) || isGenerated(path) ? 1 : 2;
  return {
    Program(node) {
      const lines = headerLines(context.sourceCode.text);
      if (lines >= least && (lines <= HEADER_LINES_MAX || isGenerated(path))) return;
      const message = lines < least
        ? `a file opens with a comment of at least ${least} lines: concept, callers, what it never does`
        : `the opening comment has ${lines} lines, more than ${HEADER_LINES_MAX}`;
      context.report({ range: [node.range[0], node.range[0] + 1], message });
    },
  };
}

function functionShape(context: Context): Visitor {
  const path = projectPath(context.filename);
  if (isGenerated(path)) return {};
  const check = (node: FunctionNode): void => {
    const lines = context.sourceCode.getText(node).split("\n").length;
    const range: [number, number] = [node.range[0], node.range[0] + 1];
    if (lines > FUNCTION_LINES_MAX) {
      const message = `function of ${lines} lines, more than ${FUNCTION_LINES_MAX}`;
      context.report({ range, message });
    }
    if (node.params.length > PARAMETERS_MAX && !isAssembly(path)) {
      const message = `${node.params.length} parameters, more than ${PARAMETERS_MAX}`;
      context.report({ range, message, hint: "Pass an options object." });
    }
  };
  return {
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  };
}

function exportedName(declaration: Deno.lint.Node | null): string | undefined {
  if (declaration === null || !("id" in declaration)) return undefined;
  const id = declaration.id as Deno.lint.Node | null;
  return id?.type === "Identifier" ? id.name : undefined;
}

/** Every exported declaration carries TSDoc; of overloads, the first. */
function documentedExports(context: Context): Visitor {
  const path = projectPath(context.filename);
  if (isGenerated(path) || isTest(path) || isAssembly(path)) return {};
  const seen = new Set<string>();
  return {
    ExportNamedDeclaration(node) {
      const { declaration } = node;
      if (declaration === null) return;
      const name = exportedName(declaration);
      if (name !== undefined && seen.has(name)) return;
      if (name !== undefined) seen.add(name);
      const comments = context.sourceCode.getCommentsBefore(node);
      const last = comments[comments.length - 1];
      if (last?.type === "Block" && last.value.startsWith("*")) return;
      context.report({
        range: [node.range[0], node.range[0] + "export".length],
        message: `exported ${name ?? "value"} has no TSDoc`,
      });
    },
  };
}

/** Members are private by `#`, which holds at run time, not by a keyword, which does not. */
function hashPrivate(context: Context): Visitor {
  const check = (node: Deno.lint.PropertyDefinition | Deno.lint.MethodDefinition): void => {
    if (node.accessibility === undefined) return;
    context.report({ node: node.key, message: `use #name instead of "${node.accessibility}"` });
  };
  return { PropertyDefinition: check, MethodDefinition: check };
}

const plugin: Deno.lint.Plugin = {
  name: "reprise-shape",
  rules: {
    "file-header": { create: fileHeader },
    "function-shape": { create: functionShape },
    "documented-exports": { create: documentedExports },
    "hash-private": { create: hashPrivate },
  },
};

export default plugin;
