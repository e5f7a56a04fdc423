// Finds the places of a source file at which one small change should make a test fail: comparisons,
// arithmetic, conditions, numbers, statements that can be left out. It only reads; run.ts applies one
// change at a time. Texts, types, imports and assertions are left alone: no behaviour depends on them.

import { parse } from "@babel/parser";

/** One change of one source file. */
export interface Mutant {
  /** Offset of the first character that is replaced. */
  readonly start: number;
  /** Offset behind the last character that is replaced. */
  readonly end: number;
  /** What stands there instead. */
  readonly replacement: string;
  /** Line of the change, counted from 1. */
  readonly line: number;
  /** Whether it changes a number in the value of a constant that is a choice (choices.ts). */
  readonly isChoice: boolean;
}

type Found = Omit<Mutant, "isChoice">;

/** A node of the syntax tree, as far as the search looks at it. */
interface Node {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  [key: string]: unknown;
}

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "&&": ["||"],
  "||": ["&&"],
  "??": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&": ["|"],
  "|": ["&"],
  "<<": [">>>"],
  ">>>": ["<<"],
  ">>": ["<<"],
  "+=": ["-="],
  "-=": ["+="],
};

const METHODS: Readonly<Record<string, string>> = {
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
  shift: "pop",
  some: "every",
  every: "some",
};

/** Keys of a node that hold types, or where the node came from. */
const NO_CODE = new Set([
  ...["loc", "typeAnnotation", "returnType", "typeParameters", "typeArguments", "implements"],
  ...["leadingComments", "trailingComments", "innerComments", "extra", "errors", "comments"],
]);

const NO_BEHAVIOUR = new Set([
  ...["ImportDeclaration", "TSInterfaceDeclaration", "TSTypeAliasDeclaration"],
  ...["TSDeclareFunction", "ThrowStatement", "TemplateLiteral"],
]);

/** Calls whose arguments are for people, or that state what cannot be. */
const NO_CALL = /^(?:assert\w*|fail|(?:this\.)?[#\w.]*logger\.log)$/;

/**
 * Every mutant of a source file, in the order of the text. `choices` names constants at its top level
 * whose values are choices.
 */
export function findMutants(source: string, choices: readonly string[] = []): Mutant[] {
  const { program } = parse(source, { sourceType: "module", plugins: ["typescript"] });
  const found: Found[] = [];
  visit(program as unknown as Node, source, found);
  const values = valuesOf(program as unknown as Node, choices);
  // An operator in such a value makes it a thousand times as large or small.
  const isChoice = ({ start }: Found) =>
    /^\d/.test(source.slice(start)) &&
    values.some((value) => start >= value.start && start < value.end);
  return found.map((one) => ({ ...one, isChoice: isChoice(one) }))
    .sort((a, b) => a.start - b.start || a.end - b.end);
}

/** The values of constants at the top level. A name that is not there would hide nothing, and fails. */
function valuesOf(program: Node, names: readonly string[]): Node[] {
  const declarators = (program["body"] as Node[])
    .map((node) => node.type === "ExportNamedDeclaration" ? node["declaration"] as Node : node)
    .flatMap((node) => node?.type === "VariableDeclaration" ? node["declarations"] as Node[] : []);
  return names.map((name) => {
    const declarator = declarators.find(({ id }) => (id as { name?: string }).name === name);
    if (declarator === undefined) throw new Error(`there is no constant ${name}`);
    return declarator["init"] as Node;
  });
}

/** The source with one mutant in it. */
export function applyMutant(source: string, mutant: Mutant): string {
  return source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end);
}

function visit(node: Node, source: string, found: Found[]): void {
  if (NO_BEHAVIOUR.has(node.type)) return;
  if (node.type === "CallExpression" && NO_CALL.test(textOf(node["callee"], source))) return;
  collect(node, source, found);
  for (const [key, value] of Object.entries(node)) {
    if (NO_CODE.has(key)) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) visit(child, source, found);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function textOf(node: unknown, source: string): string {
  return isNode(node) ? source.slice(node.start, node.end) : "";
}

function collect(node: Node, source: string, found: Found[]): void {
  const add = (start: number, end: number, replacement: string): void => {
    found.push({ start, end, replacement, line: node.loc.start.line });
  };
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return collectOperator(node, source, add);
    case "UnaryExpression":
      if (node["operator"] === "!") add(node.start, node.start + 1, "");
      return;
    case "UpdateExpression": {
      const at = node["prefix"] === true ? node.start : node.end - 2;
      return add(at, at + 2, node["operator"] === "++" ? "--" : "++");
    }
    case "BooleanLiteral":
      return add(node.start, node.end, String(node["value"] !== true));
    case "NumericLiteral":
      return add(node.start, node.end, String(Number(node["value"]) + 1));
    case "IfStatement":
    case "ConditionalExpression":
      return collectCondition(node["test"], add);
    case "BreakStatement":
    case "ContinueStatement":
      return add(node.start, node.end, ";");
    case "ExpressionStatement":
      return collectStatement(node, source, add);
    case "MemberExpression":
      return collectMethod(node["property"], add);
  }
}

type Add = (start: number, end: number, replacement: string) => void;

function collectOperator(node: Node, source: string, add: Add): void {
  const left = node["left"] as Node;
  const right = node["right"] as Node;
  const operator = String(node["operator"]);
  if (operator === "+" && [left, right].some(isText)) return;
  const at = source.indexOf(operator, left.end);
  if (at < 0 || at >= right.start) return;
  for (const other of OPERATORS[operator] ?? []) add(at, at + operator.length, other);
}

function isText(node: Node): boolean {
  return node.type === "StringLiteral" || node.type === "TemplateLiteral";
}

function collectCondition(test: unknown, add: Add): void {
  if (!isNode(test)) return;
  add(test.start, test.end, "true");
  add(test.start, test.end, "false");
}

/** A call or an assignment that stands alone can be left out. */
function collectStatement(node: Node, source: string, add: Add): void {
  const expression = node["expression"] as Node;
  if (!["CallExpression", "AssignmentExpression"].includes(expression.type)) return;
  const callee = textOf(expression["callee"], source);
  if (NO_CALL.test(callee) || callee === "super") return;
  add(node.start, node.end, ";");
}

function collectMethod(property: unknown, add: Add): void {
  if (!isNode(property)) return;
  const other = METHODS[String(property["name"])];
  if (other !== undefined) add(property.start, property.end, other);
}
