// Deno lint plugin: the direction of the layers, nothing ambient in the pure ones, and no way around the
// broker. `deno lint` runs it on every file (see deno.json); the table of rooms is
// scripts/lint/layers.ts. It looks at imports of any form, type imports included: a type is a
// dependency too.

import { ambientProblem, isDeclaration } from "./lint/ambient.ts";
import { asksTheBroker, importProblem, isPure, projectPath } from "./lint/layers.ts";

type Context = Deno.lint.RuleContext;
type Visitor = Deno.lint.LintVisitor;

/** Imports point only along the direction written in the table of rooms. */
function layerDirection(context: Context): Visitor {
  const path = projectPath(context.filename);
  const look = (node: Deno.lint.Node, source: Deno.lint.Node | null): void => {
    if (source?.type !== "Literal" || typeof source.value !== "string") return;
    const message = importProblem(path, source.value);
    if (message !== undefined) context.report({ node, message });
  };
  return {
    ImportDeclaration: (node) => look(node, node.source),
    ExportNamedDeclaration: (node) => look(node, node.source),
    ExportAllDeclaration: (node) => look(node, node.source),
    ImportExpression: (node) => look(node, node.source),
    TSImportType: (node) => {
      const { argument } = node;
      if (argument.type === "TSLiteralType") look(node, argument.literal);
    },
  };
}

/** Time, randomness, timers, output and the runtime are given to the pure rooms, never taken. */
function noAmbient(context: Context): Visitor {
  const path = projectPath(context.filename);
  if (!isPure(path)) return {};
  const identifiers: Deno.lint.Identifier[] = [];
  const declared = new Set<string>();
  const report = (node: Deno.lint.Node, what: string, why: string): void =>
    context.report({ node, message: `${what} in a pure layer: ${why}` });
  return {
    Identifier(node) {
      identifiers.push(node);
      if (isDeclaration(node)) declared.add(node.name);
    },
    ImportExpression: (node) => report(node, "import()", "the runtime stays in src/runtime"),
    MetaProperty: (node) => {
      if (node.meta.name === "import") {
        report(node, "import.meta", "the runtime stays in src/runtime");
      }
    },
    "Program:exit"() {
      // The key and the value of a shorthand property are two nodes in one place.
      const places = new Map(identifiers.map((node) => [node.range[0], node]));
      for (const node of places.values()) {
        const why = ambientProblem(node, declared);
        if (why !== undefined) report(node, node.name, why);
      }
    },
  };
}

/** Sessions and management ask the broker; what it is made of is its own business. */
function askTheBroker(context: Context): Visitor {
  if (!asksTheBroker(projectPath(context.filename))) return {};
  const look = (node: Deno.lint.Node, key: Deno.lint.Node): void => {
    const name = key.type === "Identifier" ? key.name : key.type === "Literal" ? key.value : null;
    if (name !== "store") return;
    context.report({ node, message: "the store is behind the broker: ask the broker" });
  };
  return {
    MemberExpression: (node) => look(node, node.property),
    TSIndexedAccessType: (node) => {
      if (node.indexType.type === "TSLiteralType") look(node, node.indexType.literal);
    },
    ObjectPattern: (node) => {
      for (const property of node.properties) {
        if (property.type === "Property") look(property, property.key);
      }
    },
  };
}

const plugin: Deno.lint.Plugin = {
  name: "reprise-layers",
  rules: {
    "layer-direction": { create: layerDirection },
    "no-ambient": { create: noAmbient },
    "ask-the-broker": { create: askTheBroker },
  },
};

export default plugin;
